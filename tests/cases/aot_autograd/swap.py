import torch

@torch.compile
def f(x, y):
    t = x.clone()
    x.copy_(y)
    y.copy_(t)
x, y = torch.zeros(2), torch.ones(2)
print(f(x, y), x, y)
