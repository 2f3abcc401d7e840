"""Integers that vary as indices: alone they stay symbols, among several and in lists they are numbers."""

import torch


@torch.compile
def f1(buf, i):
    return buf[i].sum()


@torch.compile
def f2(buf, i):
    return buf[:, i].sum()


@torch.compile
def f3(buf, i):
    return buf[i, 0] + 1


@torch.compile
def f4(buf, i):
    return buf[i, :, None].sum()


@torch.compile
def f5(buf, i):
    return buf[..., i + 1].sum()


@torch.compile
def f6(buf, i):
    return buf[[i, 0]].sum()


@torch.compile
def f7(buf, i):
    buf[i] = 3
    return buf.sum()


@torch.compile
def f8(buf, i):
    buf[:, i:] = 3
    return buf.sum()


@torch.compile
def f9(buf, i):
    buf[i] += 3
    return buf.sum()


@torch.compile
def f10(buf, i):
    buf[..., i] += 3
    return buf.sum()

for f in (f1, f2, f3, f4, f5, f6, f7, f8, f9, f10):
    buf = torch.zeros(5, 5)
    print([f(buf, i).item() for i in (1, 2, 3)])
