import torch

@torch.compile
def f(x):
    y = x * 2
    y.retain_grad()
    return y, y.sin()

x = torch.ones(2, requires_grad=True)
y, z = f(x)
z.sum().backward()
print(y.grad, x.grad, type(z.grad_fn).__name__)
