import torch

@torch.compile
def f(a, b):
    a.add_(1)
    return a + b[0]
base = torch.arange(6.)
print(f(base[:4], base[2:]), base)
