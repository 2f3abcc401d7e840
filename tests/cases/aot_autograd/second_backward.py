import torch
@torch.compile
def f(x):
    return x.exp().sum()
x = torch.ones(3, requires_grad=True)
y = f(x)
try:
    y.backward(retain_graph=True)
    y.backward()
    print(x.grad)
except RuntimeError as e:
    print(e)
y = f(x)
y.backward()
try:
    y.backward()
except RuntimeError as e:
    print(e)
try:
    g, = torch.autograd.grad(f(x), x, create_graph=True)
    g.sum().backward()
except RuntimeError as e:
    print(e)
@torch.compile
def h(x):
    return (x * x).sum()
y = h(x)
y.backward(retain_graph=True)
y.backward()
print(x.grad)
try:
    g, = torch.autograd.grad(h(x), x, create_graph=True)
    g.sum().backward()
except RuntimeError as e:
    print(e)
