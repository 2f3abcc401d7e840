import torch
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing, is_traceable_wrapper_subclass

a = torch.arange(4.0).reshape(2, 2)
t = TwoTensor(a, -a, requires_grad=True)
print(t, t.shape, t.stride(), t.requires_grad, t.is_leaf)
w = torch.full((2, 2), 0.5, requires_grad=True)
y = t * w
print(type(y).__name__, y.grad_fn.name(), y.a.requires_grad)
v = y.view(-1)
print(v._base is y, type(v).__name__, v.shape)
out = (y.sin() + 2).sum()
print(type(out).__name__, out.a, out.b)
out.backward()
print(t.grad, type(w.grad), w.grad)
with torch.no_grad():
    t.add_(1)
    t[0] = 7.0
print(t, t._version)
s = t.detach().split(1)
print([type(x).__name__ for x in s], s[0]._base is None, s[0])
u = t.detach()
u.t_()
print(u.shape, u.stride(), u.a.stride())
print(torch.nn.functional.linear(t, w, torch.ones(2)))
p = torch.nn.Parameter(TwoTensor(a, a))
print(type(p).__name__, isinstance(p, torch.nn.Parameter), p.requires_grad)
print(is_traceable_wrapper_subclass(t), is_traceable_wrapper_subclass(a))

class Log(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func, types, [tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in args], kwargs)
        return func(*args, **(kwargs or {}))

with Log():
    z = torch.ones(2, 3)
    (z * 2 + z.mean(0)).relu_()
    torch.nn.functional.linear(z, torch.zeros(4, 3))
    torch.cat([z, z], 1)
    torch.rand(2)
    torch.tensor([1.0, 2.0]) + 1
    TwoTensor(z, z).sum()

class Neg(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_subclass(cls, x)
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print("neg", func.__name__, func.overloadpacket, func.name())
        return super().__torch_dispatch__(func, types, args, kwargs)

n = Neg(torch.ones(2))
r = n + 1
print(type(r).__name__, r.tolist())

class Only(torch.Tensor):
    @staticmethod
    def __new__(cls, e):
        return torch.Tensor._make_wrapper_subclass(cls, e.shape, dtype=e.dtype)
    def __init__(self, e):
        self.e = e
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.add.Tensor:
            return cls(args[0].e + args[1])
        return NotImplemented
o = Only(torch.ones(3))
print((o + 1).e)
try:
    o * 2
except TypeError as e:
    print(e)
