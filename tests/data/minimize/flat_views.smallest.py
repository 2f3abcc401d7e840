import torch
def f(x):
    x.add_(1)
torch.compile(f)(torch.ones(1))
