"""Rules that take operators apart into the core of ATen, where the default backend of `torch.compile` has none or others."""

import math

import torch

aten = torch.ops.aten
RULES = {}


def _rule(*overloads):
    def decorator(f):
        RULES.update((overload, f) for overload in overloads)
        return f

    return decorator


@_rule(aten.silu.default)
def _silu(self):
    return self * torch.sigmoid(self)


@_rule(aten.zeros_like.default)
def _zeros_like(self, **options):
    return _filled_like(self, 0, options)


@_rule(aten.ones_like.default)
def _ones_like(self, **options):
    return _filled_like(self, 1, options)


def _filled_like(self, value, options):
    dtype = options.get("dtype") or self.dtype
    given = {name: option for name, option in options.items() if option is not None}
    kept = {"pin_memory": False, "memory_format": torch.preserve_format}
    return aten.full_like.default(self, bool(value) if dtype is torch.bool else value, **{**kept, **given})


@_rule(aten._softmax_backward_data.default)
def _softmax_backward(grad_output, output, dim, input_dtype):
    is_low = grad_output.dtype in (torch.float16, torch.bfloat16)
    grad, out = (t.to(torch.float32) if is_low else t for t in (grad_output, output))
    product = grad * out
    return (product - out * torch.sum(product, [dim], True)).to(input_dtype)


@_rule(aten.addmm.default)
def _addmm(self, mat1, mat2, *, beta=1, alpha=1):
    out = torch.mm(mat1, mat2) * alpha
    return out if beta == 0 else out + self.expand(out.shape) * beta


@_rule(aten.baddbmm.default)
def _baddbmm(self, batch1, batch2, *, beta=1, alpha=1):
    out = torch.bmm(batch1, batch2)
    out = out if alpha == 1 else out * alpha
    if beta == 0:
        return out
    return (self if beta == 1 else self * beta) + out


@_rule(aten.addcmul.default)
def _addcmul(self, tensor1, tensor2, *, value=1):
    return self + tensor1 * value * tensor2


@_rule(aten.addcdiv.default)
def _addcdiv(self, tensor1, tensor2, *, value=1):
    return self + tensor1 * value / tensor2


@_rule(aten.native_layer_norm.default)
def _native_layer_norm(input, normalized_shape, weight, bias, eps):
    is_low = input.dtype in (torch.float16, torch.bfloat16)
    wide = input.to(torch.float32) if is_low else input
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    var, mean = torch.var_mean(wide, dims, correction=0, keepdim=True)
    rstd = torch.rsqrt(var + eps)
    out = (wide - mean) * rstd
    out = out if weight is None else out * weight
    out = out if bias is None else out + bias
    return tuple(t.to(input.dtype) for t in (out, mean, rstd)) if is_low else (out, mean, rstd)


@_rule(aten.embedding.default)
def _embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if indices.dim() > 1:
        return weight[indices]
    rows = weight.index_select(0, indices)
    return rows.squeeze(0) if indices.dim() == 0 else rows


@_rule(aten.relu.default)
def _relu(self):
    return torch.where(torch.le(self, 0), 0, self)


@_rule(aten.clamp.default)
def _clamp(self, min=None, max=None):
    if min is not None:
        self = torch.where(torch.isnan(self) | (self >= min), self, min)
    if max is not None:
        self = torch.where(torch.isnan(self) | (self <= max), self, max)
    return self


@_rule(aten._scaled_dot_product_flash_attention_for_cpu.default)
def _flash_attention_for_cpu(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    output, weights = aten._scaled_dot_product_attention_math.default(
        query, key, value, attn_mask=attn_mask, dropout_p=dropout_p, is_causal=is_causal, dropout_mask=None, scale=scale,
        enable_gqa=query.size(1) != key.size(1),
    )  # fmt: skip
    # The fused operator lays its result out with places outermost.
    return output.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3), weights


@_rule(aten.upsample_linear1d.default, aten.upsample_linear1d.vec)
def _upsample_linear1d(input, output_size, align_corners, scales=None):
    size = input.size(2)
    scale = scales[0] if isinstance(scales, (list, tuple)) else scales
    count = output_size[0] if output_size is not None else math.floor(size * scale)
    if align_corners:
        step = (size - 1) / (count - 1) if count > 1 else 0
    else:
        step = 1.0 / scale if scale is not None and scale > 0 else size / count
    place = torch.arange(count, device=input.device).to(input.dtype if input.is_floating_point() else torch.get_default_dtype())
    place = (place * step if align_corners else (place + 0.5) * step - 0.5).clamp(min=0.0).reshape(count)
    before = place.to(torch.int64)
    behind = (before + 1).clamp(max=size - 1)
    left, right = (aten._unsafe_index.Tensor(input, [None, None, at]) for at in (before, behind))
    share = (place - before).clamp(0.0, 1.0).to(input.dtype)
    return (left + (right - left) * share).contiguous()


@_rule(aten._unsafe_index.Tensor)
def _unsafe_index(self, indices):
    return aten.index.Tensor(self, indices)


@_rule(aten.split.Tensor)
def _split(self, split_size, dim=0):
    count, rest = divmod(self.size(dim), split_size) if split_size else (1, 0)
    return aten.split_with_sizes.default(self, [split_size] * count + [rest] * (rest != 0), dim)


@_rule(aten.unbind.int)
def _unbind(self, dim=0):
    # All are cut out before the first loses its dimension.
    parts = [aten.slice.Tensor(self, dim, i, i + 1) for i in range(self.size(dim))]
    return [aten.squeeze.dims(part, [dim]) for part in parts]


@_rule(aten.squeeze.default, aten.squeeze.dim)
def _squeeze(self, dim=None):
    return aten.squeeze.dims(self, list(range(self.dim())) if dim is None else [dim])


@_rule(aten.sum.default)
def _sum(self, *, dtype=None):
    return aten.sum.dim_IntList(self, [], dtype=dtype)


@_rule(aten.glu.default)
def _glu(self, dim=-1):
    dim %= self.dim()
    half = self.size(dim) // 2
    first, second = aten.slice.Tensor(self, dim, 0, half), aten.slice.Tensor(self, dim, half, 2 * half)
    return first * torch.sigmoid(second)


@_rule(aten.clamp_min.default, aten.clamp_min.Tensor)
def _clamp_min(self, min):
    return torch.clamp(self, min)


@_rule(aten.clamp_max.default, aten.clamp_max.Tensor)
def _clamp_max(self, max):
    return torch.clamp(self, None, max)


@_rule(aten.lerp.Tensor)
def _lerp(self, end, weight):
    is_far = weight.abs() >= 0.5
    coefficient = torch.where(is_far, weight - 1, weight)
    base = torch.where(is_far, end, self)
    return coefficient * (end - self) + base


@_rule(aten.lerp.Scalar)
def _lerp_scalar(self, end, weight):
    return _lerp(self, end, torch.full((), weight, dtype=self.dtype, layout=self.layout, device=self.device))


@_rule(aten.index_add.default)
def _index_add(self, dim, index, tensor, *, alpha=1):
    tensor = tensor if alpha == 1 else tensor * alpha
    return aten.index_put.default(self, [None] * (dim % self.dim()) + [index], tensor, True)


@_rule(aten.select_scatter.default)
def _select_scatter(self, src, dim, index):
    dim %= self.dim()
    size = self.size(dim)
    positions = aten.arange.start_step(0, size, layout=torch.strided, device=self.device, pin_memory=False)
    is_selected = positions.view([-1] + [1] * (self.dim() - dim - 1)) == index % size
    return torch.where(is_selected, src.unsqueeze(dim).expand(self.shape), self)


@_rule(aten.arange.default)
def _arange(end, **options):
    return _arange_from(0, end, **options)


@_rule(aten.arange.start)
def _arange_from(start, end, **options):
    given = {name: option for name, option in options.items() if option is not None}
    return aten.arange.start_step(start, end, 1, **{"layout": torch.strided, **given})
