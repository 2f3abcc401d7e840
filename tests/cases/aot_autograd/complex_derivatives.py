import torch

torch.manual_seed(0)
z = torch.complex(torch.randn(3), torch.randn(3)).requires_grad_()


@torch.compile
def functions(z):
    y = z.exp() + z.expm1() * z.log() + z.sin() * z.cos() + z.tan() + z.sinh() + z.cosh()
    return torch.view_as_real(y).sum()


functions(z).backward()
print(z.grad.real.round(decimals=3), z.grad.imag.round(decimals=3))

a = torch.complex(torch.arange(6.0), torch.ones(6)).view(2, 3).requires_grad_()
b = torch.complex(torch.ones(6), torch.arange(6.0)).view(2, 3).requires_grad_()


@torch.compile
def products(a, b):
    return torch.view_as_real(a @ b.t()).sum()


products(a, b).backward()
print(a.grad, b.grad)
