"""Comparisons of sizes that nothing decides by are values of the graph: no guard, one graph for all sizes."""
import torch


@torch.compile(dynamic=True)
def operands(x):
    n = x.shape[0]
    return x * (n > 3), torch.tensor(n // 2 == 2), n > 3


for n in (2, 4, 5, 6):
    print(operands(torch.ones(n)))


@torch.compile(dynamic=True)
def returned(x, y):
    a, b = x.size(0), y.size(0)
    return torch.full((2,), a >= b), x.sum() + y.sum(), a == b


for a, b in ((3, 4), (5, 4), (4, 4)):
    print(returned(torch.ones(a), torch.ones(b)))


@torch.compile(dynamic=True)
def decided(x):
    large = x.shape[0] > 4
    if large:
        x = x + 1
    return x * 2, isinstance(large, bool)


print(decided(torch.ones(3)), decided(torch.ones(6)))


@torch.compile(dynamic=True)
def written(x):
    n = x.shape[0]
    x.mul_(n > 4)
    return x, torch.zeros(2) + (n > 3)


print(written(torch.ones(4)), written(torch.ones(6)))
