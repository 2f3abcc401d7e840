"""One function for tensors of any rank: each size has varied once the rank has."""

import torch

torch._dynamo.config.recompile_limit = 16


@torch.compile
def f(x):
    return x.sin().sum(-1) * x.shape[0]


for sizes in ((2, 3), (3, 2), (4, 4), (4, 5, 2), (3, 2, 2), (2, 2, 6), (5,), (7,), (1, 3), (6, 1)):
    print(f(torch.ones(sizes)).shape)
