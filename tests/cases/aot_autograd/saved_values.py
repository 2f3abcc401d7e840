import torch
@torch.compile
def f(x, w):
    return x * w
x = torch.ones(3); w = torch.full((3,), 2., requires_grad=True)
o = f(x, w)
x.add_(1)
try:
    o.sum().backward()
except RuntimeError as e:
    print(str(e)[:200])
@torch.compile
def g(x):
    return x.sigmoid()
x = torch.ones(3, requires_grad=True)
o = g(x)
with torch.no_grad(): o.mul_(2)
try:
    o.sum().backward(); print(x.grad)
except RuntimeError as e:
    print(str(e)[:200])
