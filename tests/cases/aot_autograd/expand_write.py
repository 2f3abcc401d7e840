import torch

@torch.compile
def f(x):
    y = x.expand(3, 2)
    z = y.clone()
    z[0].zero_()
    z[:, 1].add_(1)
    return z, y
x = torch.ones(1, 2, requires_grad=True)
z, y = f(x)
print(z, y.stride(), y._base is x)
z.sum().backward()
print(x.grad)
