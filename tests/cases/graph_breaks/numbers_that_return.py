"""A number that varied comes back, while a size varies."""

import torch
@torch.compile
def f(x, eps=1e-5):
    return x + eps
print(f(torch.ones(2, 3)).sum())
print(f(torch.ones(2,3), eps=1e-3).sum())
print(f(torch.ones(4, 3)).sum())
@torch.compile
def g(x, *, eps=1e-5):
    return x + eps
print(g(torch.ones(2, 3)).sum())
print(g(torch.ones(2,3), eps=1e-3).sum())
print(g(torch.ones(4, 3), eps=1e-4).sum())
@torch.compile
def h(x, *, eps=1e-5):
    return x + eps
print(h(torch.ones(2, 3)).sum())
print(h(torch.ones(2,3), eps=1e-3).sum())
print(h(torch.ones(4, 3), eps=1e-5).sum())
