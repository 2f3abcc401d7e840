import torch

@torch.compile
def f(x):
    v = x[1:]
    x.mul_(2)
    return v, v + 1
w = torch.arange(3.).requires_grad_()
x = w * 1
v, s = f(x)
print(v, s, v._base is x)
s.sum().backward()
print(w.grad)
