"""Numbers that a tensor gives to Python, by int(), float() and item(), and that vary."""
import torch
@torch.compile
def i(x):
    n = int(x.sum())
    return x.repeat(n)
for v in (1., 2., 3.): i(torch.full((2,), v))
@torch.compile
def j(x):
    n = int(x.sum().item())
    return x.repeat(n)
for v in (1., 2., 3.): j(torch.full((2,), v))
@torch.compile
def k(x):
    return x * float(x.sum())
for v in (1., 2., 3.): k(torch.full((2,), v))
@torch.compile
def l(x, i):
    n = i.item()
    return x[:n] * n
for v in (1, 2, 3): l(torch.ones(4), torch.tensor(v))
