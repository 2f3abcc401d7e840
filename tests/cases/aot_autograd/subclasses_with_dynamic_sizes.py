# Symbolic sizes of a tensor of a class, and of those that it is made of, are inputs and outputs of its graph.
import torch
from torch.testing._internal.two_tensor import TwoTensor


@torch.compile(dynamic=True)
def train(x, w):
    y = (x @ w).relu()
    return y.sum(0)


w = TwoTensor(torch.full((3, 4), 0.5), torch.ones(3, 4)).requires_grad_()
for n in (2, 5, 7):
    out = train(TwoTensor(torch.ones(n, 3), torch.ones(n, 3) * 2), w)
    out.sum().backward()
    print(out.a, out.b, w.grad.a[0], w.grad.b[0])
    w.grad = None


@torch.compile
def automatic(t):
    return t.cumsum(0) * 2


for n in (3, 4, 6):
    out = automatic(TwoTensor(torch.ones(n), torch.zeros(n)))
    print(out.a, out.b)


@torch.compile(dynamic=True)
def written(t):
    t.mul_(2)
    return t.sum()


for n in (3, 4):
    t = TwoTensor(torch.ones(n), torch.ones(n))
    print(written(t).a, t.a, t.b)
