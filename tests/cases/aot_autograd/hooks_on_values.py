import torch
@torch.compile
def f(x):
    y = x.sin()
    y.register_hook(lambda g: g.clamp(max=0.5))
    z = y * x
    z.register_hook(lambda g: g + 1)
    return z.sum()
x = torch.linspace(0, 1, 4, requires_grad=True)
f(x).backward()
print(x.grad)
