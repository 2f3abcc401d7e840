import torch

@torch.compile
def f(x):
    x.data.mul_(2)
    return x.sin()

x = torch.arange(3.).requires_grad_()
y = f(x)
y.sum().backward()
print(y, x, x.grad)

@torch.compile
def g(x):
    x.requires_grad_()
    return x.cos()

z = torch.ones(2)
y = g(z)
y.sum().backward()
print(y.requires_grad, z.requires_grad, z.grad)

@torch.compile
def h(x, y):
    x.set_(y)
    return x * 2

a, b = torch.arange(3.), torch.ones(3)
print(h(a, b), a, a.data_ptr() == b.data_ptr())

@torch.compile
def bits(x):
    v = x.view(torch.int32)
    v.bitwise_and_(0x7fffffff)
    return x + 1

t = torch.tensor([-1.0, 2.0, -3.0])
print(bits(t), t)
