import torch
from torch.testing._internal.two_tensor import TwoTensor


@torch.compile
def mixed(x, y):
    z = x * y
    return z.a.sum() + 1

print(mixed(TwoTensor(torch.ones(2), torch.arange(2.0)), torch.ones(2)))


@torch.compile
def make(x):
    return TwoTensor(x, x * 2) + 1

print(make(torch.ones(2)))
