import torch

@torch.compile
def f(x):
    x.t_()
    x.mul_(2)
    return x.sum(0)
x = torch.arange(6.).reshape(2, 3)
print(f(x), x)
