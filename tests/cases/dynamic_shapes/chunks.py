"""Splitting by sizes that vary: chunk, split, unfold, roll, flips and concatenations of the parts."""

import torch


@torch.compile(dynamic=True)
def parts(x):
    a, b = x.chunk(2, dim=0)
    first, rest = x[:2], x[2:]
    return torch.cat([b, a]).sum(1), torch.cat([rest, first], dim=0) * x.size(0), x.roll(1, 0).flip(0)


@torch.compile(dynamic=True)
def windows(x, size: int):
    w = x.unfold(0, size, 1)
    return w.mean(-1), w.shape[0]


@torch.compile
def heads(x, n):
    b, t, d = x.shape
    return x.view(b, t, n, d // n).transpose(1, 2).reshape(b * n, t, -1).sum(1)


for n in (4, 6, 7):
    x = torch.arange(float(n * 4)).view(n, 4)
    print([t.shape for t in parts(x)], windows(x[:, 0], 3)[1], heads(x.view(1, n, 4), 2).shape)
