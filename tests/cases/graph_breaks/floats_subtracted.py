"""Differences with floats that vary, in functions that are differentiated."""
import torch

@torch.compile
def blend(x, y, t):
    return ((1 - t) * x + t * y).sin().sum()

@torch.compile
def centred(x, t):
    return (x * (t - 1.5) + x / (2 - t)).cos().sum()

@torch.compile
def between(x, a, b):
    return (x * (a - b)).exp().sum()

for t in (0.25, 0.5, 0.75):
    x, y = torch.arange(3.0, requires_grad=True), torch.ones(3, requires_grad=True)
    blend(x, y, t).backward()
    centred(x, t).backward()
    between(x, t, t / 2).backward()
    print(x.grad, y.grad)
