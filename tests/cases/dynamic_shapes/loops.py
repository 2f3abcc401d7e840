"""Loops over sizes: what is unrolled is a number."""

import torch


@torch.compile(dynamic=True)
def rows(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * i)
    return torch.stack(out).sum(0) + x.shape[1]


@torch.compile(dynamic=True)
def halves(x):
    while x.shape[0] > 3:
        x = x[: x.shape[0] // 2] + 1
    return x


for shape in ((2, 3), (2, 5), (3, 5)):
    print(rows(torch.ones(shape)))
for n in (4, 9, 20, 21, 3):
    print(halves(torch.ones(n)))
