import torch

@torch.compile
def f(x):
    return x.sin() * 2
x = torch.ones(2, requires_grad=True)
out = f(x)
def bad(g):
    raise ValueError("from the hook")
out.register_hook(bad)
try:
    out.sum().backward()
except ValueError as e:
    print("ValueError", e)
