"""Sizes and integers that live on after a break."""

import torch


@torch.compile
def walk(x, n):
    rows = x.shape[0] * 2
    y = x.sin() * n
    print("between", rows, n)
    z = y.repeat(2, 1)[: rows - 1]
    return z.sum(0) + rows + n


for a, n in ((3, 1), (4, 2), (5, 3), (6, 3)):
    print(walk(torch.ones(a, 2), n))
