import torch

@torch.compile
def f(x):
    y = x.clone()
    y.diagonal().copy_(torch.ones(3))
    y.fill_diagonal_(7)
    return y, y.diagonal()
x = torch.zeros(3, 3, requires_grad=True)
y, d = f(x)
print(y, d, d._base is None)
y.sum().backward()
print(x.grad)
