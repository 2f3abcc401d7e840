import torch

@torch.compile
def f(x):
    x.resize_(2, 2)
    return x + 1
x = torch.arange(6.)
try:
    print(f(x), x)
except Exception as e:
    print(type(e).__name__)
