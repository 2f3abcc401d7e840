# A tensor of a class of the script's own that a compiled function makes, reads and returns is a call of the graph, and so is the
# reading of what it is made of.
import torch
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

aten = torch.ops.aten


class ScaledTensor(torch.Tensor):
    @staticmethod
    def __new__(cls, data, scale, dtype, *, label=None):
        return torch.Tensor._make_wrapper_subclass(cls, data.size(), strides=data.stride(), dtype=dtype, device=data.device)

    def __init__(self, data, scale, dtype, *, label=None):
        self._data, self._scale, self._orig, self.label = data, scale, dtype, label

    def __tensor_flatten__(self):
        return ["_data", "_scale"], {"orig": self._orig, "label": self.label}

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return ScaledTensor(inner["_data"], inner["_scale"], meta["orig"], label=meta["label"])

    def to_original(self):
        return self._data.to(self._orig) * self._scale

    def __repr__(self):
        return f"ScaledTensor({tuple(self.shape)}, {self._data.dtype}, {self.label})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        if func in (aten.detach.default, aten.t.default, aten.view.default, aten.transpose.int):
            of = args[0]
            return ScaledTensor(func(of._data, *args[1:]), of._scale, of._orig, label=of.label)
        if func in (aten.mm.default, aten.addmm.default):
            return func(*[a.to_original() if isinstance(a, ScaledTensor) else a for a in args])
        raise NotImplementedError(str(func))

    __torch_function__ = torch._C._disabled_torch_function_impl


class ToScaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, name):
        s = x.abs().max() / 127
        return ScaledTensor((x / s).round().to(torch.int8), s, x.dtype, label=name)

    @staticmethod
    def backward(ctx, g):
        return g, None


class FQLinear(nn.Linear):
    def forward(self, x):
        w = ToScaled.apply(self.weight, "weight")
        given = ToScaled.apply(x, "input")
        return torch.mm(given, w.t()) + self.bias


torch.manual_seed(0)
net = nn.Sequential(FQLinear(8, 16), nn.ReLU(), FQLinear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x, y = torch.randn(32, 8), torch.randn(32, 2)
compiled = torch.compile(net, fullgraph=True)
for i in range(3):
    loss = (compiled(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, round(loss.item(), 4))


@torch.compile(fullgraph=True)
def made(a, b):
    t = TwoTensor(a * 2, b + 1)
    u = t + t
    return u.detach(), u.a.sum() + u.b.sum(), t.a


a = torch.ones(2, requires_grad=True)
u, s, inner = made(a, torch.zeros(2, requires_grad=True))
print(u, s, inner, inner.requires_grad)
inner.sum().backward()
print(a.grad)


@torch.compile(fullgraph=True)
def kept(x, names):
    t = ScaledTensor(x.to(torch.int8), x.abs().max(), torch.float32, label=names)
    return t.to_original(), t.label, t


for name in ("one", "one", "two"):
    dense, told, t = kept(torch.tensor([[1.0, -2.0]]), name)
    print(dense, told, t)


@torch.compile
def nested(a):
    t = TwoTensor(TwoTensor(a, a + 1), TwoTensor(a * 2, a * 3))
    return (t * 2).a.b, t.b


inner, half = nested(torch.ones(2))
print(inner, type(half).__name__, half.a)
