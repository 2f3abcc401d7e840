import torch

@torch.compile
def f(x, i, v):
    y = x.clone()
    y[i] = v
    y.index_add_(0, i, v)
    x[i] += 1
    return y
x, i, v = torch.zeros(4), torch.tensor([0, 2]), torch.ones(2, requires_grad=True)
y = f(x, i, v)
print(y, x)
y.sum().backward()
print(v.grad)
