import torch
def inner(x):
    y = x.sin()
    print("inside", y.shape)
    return y.cos()
@torch.compile
def f(x):
    a = x * 2
    b = inner(a)
    return b + a
for n in (3, 4):
    x = torch.ones(n, requires_grad=True)
    y = f(x); y.sum().backward(); print(y, x.grad)
