import torch
@torch.compile
def f(x):
    return (x.sin() * 2).sum()
f(torch.ones(3, requires_grad=True)).backward()
