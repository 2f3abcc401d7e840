"""Inputs that are not contiguous, of varying sizes; strides that the script reads."""

import torch


@torch.compile(dynamic=True)
def read(x):
    a, b = x.stride()
    return x * a + b, x.is_contiguous(), x.storage_offset()


@torch.compile(dynamic=True)
def flat(x):
    return x.transpose(0, 1).reshape(-1) * 2, x.t().contiguous().view(-1)


@torch.compile(dynamic=True)
def strided(x):
    return x.as_strided((x.shape[0], 2), (x.shape[1], 1), 1) + x.new_empty_strided((2, 2), (1, 2)).fill_(1).sum()


for n, m in ((3, 4), (5, 6)):
    base = torch.arange(float(n * m * 2))
    print(read(base[: n * m].view(n, m)))
    print(read(base[: n * m].view(m, n).t()))
    print(read(base.view(n, m * 2)[:, ::2]))
    print(flat(base[: n * m].view(n, m)))
    print(strided(base[: n * m].view(n, m)))
    print(read(torch.ones(n, 1).expand(n, m)))
