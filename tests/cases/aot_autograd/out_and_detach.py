import torch

@torch.compile
def f(x):
    y = x.sin()
    return y, y.detach()
x = torch.zeros(2, requires_grad=True)
y, d = f(x)
print(y.requires_grad, d.requires_grad, d.is_leaf)
d.add_(5)
print(y)
