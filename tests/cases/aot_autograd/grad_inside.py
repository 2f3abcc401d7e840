import torch

@torch.compile
def f(x):
    y = (x * x).sum()
    (g,) = torch.autograd.grad(y, x)
    return g + 1
x = torch.arange(3.).requires_grad_()
try:
    print(f(x))
except Exception as e:
    print(type(e).__name__)
