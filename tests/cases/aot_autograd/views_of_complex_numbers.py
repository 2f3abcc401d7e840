import torch
@torch.compile
def f(x):
    z = torch.view_as_complex(x * 2)
    y = z * z
    return torch.view_as_real(y)[..., 0]
x = torch.arange(6.).view(3, 2).requires_grad_()
o = f(x)
o.sum().backward()
print(o, x.grad)
