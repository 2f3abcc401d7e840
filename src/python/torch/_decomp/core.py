"""Rules that take operators apart into the core of ATen, where the default backend of `torch.compile` has none or others."""

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
