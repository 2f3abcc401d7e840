import torch

@torch.compile
def f(a, b, c):
    return a.sin() + 1, c
a, b, c = (torch.ones(2, requires_grad=True) for _ in range(3))
o, same = f(a, b, c)
o.sum().backward()
print(a.grad, b.grad, same is c)
