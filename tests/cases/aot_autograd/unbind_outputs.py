import torch

@torch.compile
def f(x):
    y = x * 2
    a, b = y.unbind(0)
    return a, b + 1
x = torch.arange(4.).reshape(2, 2).requires_grad_()
a, b = f(x)
print(a.grad_fn.name(), a._base is None)
(a.sum() + b.sum()).backward()
print(x.grad)
