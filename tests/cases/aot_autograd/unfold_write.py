import torch


@torch.compile
def f(x):
    y = x * 2
    w = y.unfold(0, 2, 2)
    w[:, 0].mul_(3.0)
    return y.cumsum(0)


x = torch.arange(16.0).reshape(4, 4).requires_grad_()
out = f(x)
print(out)
out.sum().backward()
print(x.grad)
