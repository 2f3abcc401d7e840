import torch

@torch.compile
def f(a, b):
    a.add_(1)
    return a * b
x = torch.arange(3.)
print(f(x, x), x)
