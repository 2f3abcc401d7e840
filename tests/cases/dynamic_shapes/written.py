"""Inputs that are written to, by amounts and in places that sizes give."""

import torch


@torch.compile(dynamic=True)
def written(x, y):
    n = x.shape[0]
    x[: n // 2] = n
    x[-1].add_(y.sum())
    y.mul_(y.numel())
    return x[n // 2 :] * 2


@torch.compile(dynamic=True)
def padded(x):
    out = x.new_zeros(x.shape[0] + 2, x.shape[1] * 2)
    out[1:-1, : x.shape[1]] = x
    return out


for n in (4, 5, 9):
    x, y = torch.ones(n, 2), torch.ones(3)
    print(written(x, y), x, y)
for shape in ((2, 3), (3, 2)):
    x = torch.ones(shape, requires_grad=True)
    (padded(x) * 3).sum().backward()
    print(x.grad)
