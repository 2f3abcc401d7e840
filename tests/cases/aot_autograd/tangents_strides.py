import torch

@torch.compile
def f(x):
    return x.t() * 2
x = torch.arange(6.).reshape(2, 3).requires_grad_()
out = f(x)
out.backward(torch.arange(6.).reshape(3, 2))
print(x.grad)
x.grad = None
f(x).sum().backward()
print(x.grad, x.grad.stride())
