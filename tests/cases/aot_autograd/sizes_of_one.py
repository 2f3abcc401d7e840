"""Strides of dimensions of one element: those that fake tensors have."""

import torch
import torch.nn.functional as F


@torch.compile
def normed(x, c, w, b):
    y = F.conv2d(x, c).permute(0, 2, 3, 1)
    return F.layer_norm(y, (4,), w, b).sum()


c = torch.randn(4, 3, 4, 4, requires_grad=True)
normed(torch.randn(2, 3, 4, 4), c, torch.ones(4), torch.zeros(4)).backward()
print(c.grad.shape)


@torch.compile
def like(x):
    y = x.permute(0, 2, 1)
    return torch.zeros_like(y), torch.ones_like(y) * y, F.layer_norm(y, (4,))


x = torch.randn(3, 4, 1, requires_grad=True)
zeros, scaled, normal = like(x)
(scaled.sum() + normal.square().sum()).backward()
print(zeros.shape, x.grad.shape)
