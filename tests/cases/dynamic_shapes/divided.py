"""Views that hold where sizes divide."""

import torch


@torch.compile(dynamic=True)
def pairs(x):
    return x.view(x.shape[0] // 2, 2, -1).sum(1)


@torch.compile(dynamic=True)
def windows(x, k):
    return x.unfold(0, k, k).mean(-1), x.view(-1, k).amax(1)


@torch.compile(dynamic=True)
def patches(x):
    b, h, w = x.shape
    return x.reshape(b, h // 4, 4, w // 4, 4).permute(0, 1, 3, 2, 4).flatten(3).sum(-1)


for n in (4, 6, 10):
    x = torch.arange(float(n * 3)).view(n, 3).requires_grad_()
    pairs(x).square().sum().backward()
    print(x.grad.sum(1))
for n, k in ((6, 2), (9, 3), (8, 2)):
    print(windows(torch.arange(float(n)), k))
for shape in ((2, 8, 12), (3, 16, 8)):
    print(patches(torch.ones(shape)).shape)
try:
    pairs(torch.ones(5, 3))
except Exception as error:
    print(type(error).__name__)
