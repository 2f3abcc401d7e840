"""Slices among several indices, of sizes that become numbers and of sizes that stay symbols."""

import torch


@torch.compile(dynamic=True)
def f(x, w):
    y = x[:, : w.shape[0], 0]
    return (y + w).sum(), x[:, :, 1:], x[..., :2]


@torch.compile
def g(x, n):
    return x[:, :n] * 2, x[:n, 0], x[0, :n].sum()


for n in (3, 4, 5):
    print([t.shape for t in f(torch.ones(2, n, 4), torch.ones(3))])
    print([t.shape for t in g(torch.ones(5, n), n)])
