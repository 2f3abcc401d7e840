import torch

@torch.compile
def f(x):
    y = x[:0]
    y.add_(1)
    return y, x.sum() + y.sum()
x = torch.ones(2, requires_grad=True)
y, s = f(x * 1)
s.backward()
print(y.shape, s, x.grad)
