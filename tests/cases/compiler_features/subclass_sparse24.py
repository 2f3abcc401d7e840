import torch
from torch.utils._pytree import tree_map_only
from torch.utils._python_dispatch import return_and_correct_aliasing

aten = torch.ops.aten


class Sparse24(torch.Tensor):
    """Two of every four values of a row, with their positions."""

    @staticmethod
    def __new__(cls, values, index, shape, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=values.dtype, device=values.device, requires_grad=requires_grad)

    def __init__(self, values, index, shape, requires_grad=False):
        self.values_, self.index = values, index

    @classmethod
    def from_dense(cls, x):
        groups = x.reshape(-1, 4)
        index = groups.abs().topk(2, dim=1).indices.sort(dim=1).values
        return cls(groups.gather(1, index), index, x.shape, x.requires_grad)

    def to_dense_(self):
        zeros = self.values_.new_zeros(self.values_.shape[0], 4)
        return zeros.scatter(1, self.index, self.values_).view(self.shape)

    def __repr__(self):
        return f"Sparse24({list(self.shape)})"

    def __tensor_flatten__(self):
        return ["values_", "index"], (tuple(self.shape), self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner, meta, outer_size, outer_stride):
        return Sparse24(inner["values_"], inner["index"], meta[0])

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        kwargs = kwargs or {}
        if func is aten.detach.default:
            of = args[0]
            return return_and_correct_aliasing(func, args, kwargs, cls(func(of.values_), of.index, of.shape))
        if func is aten.mul.Tensor and not isinstance(args[1], torch.Tensor):
            of = args[0]
            return cls(func(of.values_, args[1]), of.index, of.shape)
        dense = lambda x: x.to_dense_()
        return func(*tree_map_only(Sparse24, dense, args), **tree_map_only(Sparse24, dense, kwargs))


torch.manual_seed(0)
d = torch.randn(4, 8)
s = Sparse24.from_dense(d)
print(s, s.to_dense_().ne(0).sum(1))
x = torch.randn(8, 3, requires_grad=True)


def f(s, x):
    h = (s * 0.5) @ x
    return torch.tanh(h).sum()


e = f(s, x)
e.backward()
want = x.grad.clone()
x.grad = None
g = torch.compile(f)
out = g(s, x)
out.backward()
print(torch.allclose(e, out), torch.allclose(want, x.grad))
half = torch.compile(lambda s: s * 0.5)(s)
print(type(half).__name__, half, half.index.dtype, torch.equal(half.values_, s.values_ * 0.5))
s2 = Sparse24.from_dense(torch.randn(4, 8))
print(g(s2, x).item() == f(s2, x).item())
