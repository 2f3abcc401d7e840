import torch

@torch.compile
def f(x):
    x.t_()
    return x + 1
x = torch.arange(6.).reshape(2, 3)
print(f(x).shape, x.shape, x.stride())
x = torch.arange(8.).reshape(2, 4)
print(f(x), x)
