import torch

@torch.compile
def f(x):
    y = x * 2
    y.detach().mul_(3)
    return y + 1
x = torch.ones(2, requires_grad=True)
out = f(x)
print(out)
out.sum().backward()
print(x.grad)
