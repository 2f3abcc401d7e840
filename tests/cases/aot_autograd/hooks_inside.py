import torch

@torch.compile
def f(x):
    y = x.sin()
    y.register_hook(lambda g: g * 2)
    return y.cos()
x = torch.ones(2, requires_grad=True)
f(x).sum().backward()
print(x.grad)
