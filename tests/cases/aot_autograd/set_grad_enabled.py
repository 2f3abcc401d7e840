import torch

@torch.compile
def f(x):
    y = x * 2
    torch.set_grad_enabled(False)
    z = y * 3
    torch.set_grad_enabled(True)
    return y, z
x = torch.ones(2, requires_grad=True)
y, z = f(x)
print(y.requires_grad, z.requires_grad, torch.is_grad_enabled())
