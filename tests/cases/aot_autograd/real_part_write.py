import torch

@torch.compile
def f(x):
    z = torch.complex(x, x * 2)
    z.imag.zero_()
    z.real.add_(1)
    return z.abs(), z
x = torch.arange(3.).requires_grad_()
a, z = f(x)
print(a, z)
a.sum().backward()
print(x.grad)
