import torch
def f(x):
    x.mul_(1)
torch.compile(f)(torch.ones(1, requires_grad=True))
