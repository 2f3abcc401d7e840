"""Joining and splitting along sizes that vary, forward and backward."""

import torch


@torch.compile(dynamic=True)
def joined(x, y):
    both = torch.cat([x, y, x * 2])
    first, second = both.chunk(2)
    return torch.stack([first.sum(0), second.mean(0)]) * both.shape[0]


@torch.compile(dynamic=True)
def split(x):
    a, b, c = torch.split(x, [2, x.shape[0] - 3, 1])
    return a.sum() * b.prod(), c * b[-1]


for n, m in ((3, 4), (5, 2), (2, 2)):
    x = torch.linspace(0, 1, n * 3).reshape(n, 3).requires_grad_()
    y = torch.linspace(1, 2, m * 3).reshape(m, 3).requires_grad_()
    joined(x, y).sum().backward()
    print(x.grad, y.grad)
for n in (5, 7):
    x = torch.linspace(1, 2, n).requires_grad_()
    a, b = split(x)
    (a + b.sum()).backward()
    print(x.grad)
