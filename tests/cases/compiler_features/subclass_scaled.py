import torch
from torch.utils._python_dispatch import return_and_correct_aliasing

aten = torch.ops.aten


class ScaledTensor(torch.Tensor):
    """Values kept in eight bits with one scale."""

    @staticmethod
    def __new__(cls, data, scale, dtype=torch.float32):
        return torch.Tensor._make_wrapper_subclass(cls, data.size(), strides=data.stride(), dtype=dtype, device=data.device)

    def __init__(self, data, scale, dtype=torch.float32):
        self.data_q = data
        self.scale = scale
        self.out_dtype = dtype

    def __repr__(self):
        return f"ScaledTensor(scale={self.scale.item():.4f}, shape={tuple(self.shape)})"

    def __tensor_flatten__(self):
        return ["data_q", "scale"], {"dtype": self.out_dtype}

    @classmethod
    def __tensor_unflatten__(cls, inner, meta, outer_size, outer_stride):
        return cls(inner["data_q"], inner["scale"], meta["dtype"])

    @classmethod
    def quantize(cls, x):
        scale = x.abs().amax() / 127
        return cls((x / scale).round().clamp(-128, 127).to(torch.int8), scale, x.dtype)

    def dequantize(self):
        return self.data_q.to(self.out_dtype) * self.scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        kwargs = kwargs or {}
        if func in (aten.t.default, aten.detach.default, aten.view.default):
            of = args[0]
            out = cls(func(of.data_q, *args[1:], **kwargs), of.scale, of.out_dtype)
            return return_and_correct_aliasing(func, args, kwargs, out)
        if func is aten._to_copy.default:
            return args[0].dequantize().to(kwargs.get("dtype", args[0].out_dtype))
        wide = lambda x: x.dequantize() if isinstance(x, ScaledTensor) else x
        return func(*torch.utils._pytree.tree_map(wide, args), **torch.utils._pytree.tree_map(wide, kwargs))


torch.manual_seed(0)
w = ScaledTensor.quantize(torch.randn(4, 8))
print(w, w.dtype, w.t().shape)


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(w, requires_grad=False)
        self.bias = torch.nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight, self.bias).relu()


m = Linear()
print(type(m.weight).__name__, isinstance(m.weight, torch.nn.Parameter), list(dict(m.named_parameters())))
x = torch.randn(3, 8, requires_grad=True)
y = m(x)
y.sum().backward()
eager = x.grad.clone()
x.grad = m.bias.grad = None
compiled = torch.compile(m)
out = compiled(x)
print((out - y).abs().max().item() < 1e-6, type(out).__name__)
out.sum().backward()
print(torch.allclose(eager, x.grad), m.bias.grad)


@torch.compile(fullgraph=True)
def scale_up(q, k):
    return q * k, q.t()


a, b = scale_up(w, torch.tensor(2.0))
print(type(a).__name__, type(b).__name__, b.shape, a.shape)
