import torch

@torch.compile
def f(x):
    y = x.view(torch.int32)
    return y + 1, y
x = torch.ones(3)
a, y = f(x)
print(a, y, y._base is x)
