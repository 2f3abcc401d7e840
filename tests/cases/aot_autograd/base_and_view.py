import torch

@torch.compile
def f(base, v):
    v.add_(1)
    return base * 2
base = torch.arange(4.)
print(f(base, base[1:3]), base)
