import torch

@torch.compile
def f(x):
    y = x * 1
    y[y < 2] = 0
    y.masked_fill_(y > 3, -1)
    return y
x = torch.arange(6.).requires_grad_()
y = f(x)
print(y)
y.sum().backward()
print(x.grad)
