# A graph would end in one of PyTorch's own modules or functions: Python calls that as it is.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
conv, norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3, momentum=None)
seq = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3, momentum=None), nn.ReLU())


@torch.compile
def f(x):
    return norm(conv(x) * 2).relu().sum()


@torch.compile
def g(x):
    return seq(x.sin()).cos()


@torch.compile
def loss(m, t, v):
    return F.gaussian_nll_loss(m * 2, t, v) + F.smooth_l1_loss(m, t)


for _ in range(2):
    f(torch.randn(2, 2, 5, 5)).backward()
    print(conv.weight.grad.norm(), norm.num_batches_tracked)
g(torch.randn(2, 3, 4, 4)).sum().backward()
print(seq[0].weight.grad.norm())
m = torch.randn(3, requires_grad=True)
loss(m, torch.zeros(3), torch.ones(3)).backward()
print(m.grad)
