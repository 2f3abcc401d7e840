import torch

@torch.compile
def f(x):
    y = x.cos()
    return y, y, (x, {"k": y.view(-1)})
x = torch.zeros(2, requires_grad=True)
a, b, (c, d) = f(x)
print(a is b, c is x, d["k"]._base is a)
(a.sum() + b.sum() + d["k"].sum()).backward()
print(x.grad)
