"""Windows, parts and a reversed range of a length that varies; a mask made of positions."""

import torch


@torch.compile(dynamic=True)
def f(x, w):
    p = x.unfold(0, 3, 2)
    c = x.split(x.shape[0] // 2)
    d = x.chunk(3)
    i = torch.arange(x.shape[0] - 1, -1, -1)
    r = x[i]
    return p @ w[:3], c[0] * 2, sum(t.sum() for t in d), r, x[x.shape[0] - 2]
for n in (8, 11, 12, 9):
    x = torch.arange(float(n)); w = torch.ones(5)
    a, b, c, d, e = f(x, w)
    print(a.tolist(), b.shape, c.item(), d[0].item(), e.item())


@torch.compile(dynamic=True)
def mask(x):
    positions = torch.arange(x.shape[0])
    return positions[None, :] <= positions[:, None]


for n in (5, 7):
    print(mask(torch.ones(n)).sum().item())
