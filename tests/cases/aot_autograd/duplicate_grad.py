import torch

@torch.compile
def f(a, b):
    return a * b, a
x = torch.arange(3.).requires_grad_()
y = x * 1
out, same = f(y, y)
print(same is y)
out.sum().backward()
print(x.grad)
