import torch

@torch.compile
def f(x, b):
    with torch.no_grad():
        b.copy_(x)
    b.mul_(2)
    return b + x
b = torch.zeros(3)
x = torch.arange(3.).requires_grad_()
print(f(x, b), b, b.requires_grad)
