"""Sizes made of others with int, math and round: parts of a sequence, ratios, patches."""

import math

import torch


@torch.compile
def crop(x, ratio=0.5):
    n = int(x.shape[0] * ratio)
    k = math.ceil(x.shape[1] / 2)
    return x[:n, :k].sum(0) + len(x)


@torch.compile
def scaled(x):
    return x / math.sqrt(x.shape[-1]) + float(x.shape[0]) * 0.25


@torch.compile(dynamic=True)
def tail(x):
    start = max(int(x.size(0)) - 4, 0)
    return x[start:] * math.floor(x.size(0) / 3)


for n in (6, 8, 11, 14):
    x = torch.arange(float(n * 3)).view(n, 3)
    print(crop(x), scaled(x).sum(), tail(x).shape)
