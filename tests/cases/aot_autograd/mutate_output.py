import torch

@torch.compile
def f(x):
    y = x * 2
    return y, y.view(-1)
x = torch.ones(2, 2, requires_grad=True)
y, v = f(x)
v.add_(1)
print(y, v.grad_fn.name(), y.grad_fn.name())
y.sum().backward()
print(x.grad)
