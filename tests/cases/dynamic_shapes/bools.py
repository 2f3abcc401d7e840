"""Comparisons of sizes that choose, that are values, that are combined."""

import torch


@torch.compile(dynamic=True)
def chosen(x, y):
    big = x.shape[0] > y.shape[0]
    both = big and x.shape[1] == y.shape[1]
    if both:
        return x[: y.shape[0]] + y
    if x.shape[0] * 2 > y.shape[0] >= 4:
        return y[: x.shape[0]] * 2
    return x.sum() + y.sum()


for a, b in ((6, 4), (8, 3), (3, 5), (4, 4), (2, 9), (6, 5)):
    print(chosen(torch.ones(a, 3), torch.ones(b, 3)))


@torch.compile(dynamic=True)
def selected(x):
    n = x.shape[0]
    return torch.sym_ite(n > 4, n, n * 2) * x, torch.sym_not(n > 4)


for n in (3, 5, 8):
    print(selected(torch.ones(n)))
