"""Floats of a call that vary, beside sizes."""

import torch


@torch.compile
def mixed(x, f):
    return x * f + x.shape[0] / 2 - f**2


@torch.compile
def clamped(x, low, high):
    return x.clamp(low, high) * (high - low)


for n, f in ((3, 0.5), (4, 0.75), (5, 1.5), (6, 2.0)):
    x = torch.linspace(0, 1, n).requires_grad_()
    out = mixed(x, f)
    out.sum().backward()
    print(out, x.grad)
for low, high in ((0.1, 0.5), (0.2, 0.75), (0.2, 0.9)):
    print(clamped(torch.linspace(0, 1, 5), low, high))
