import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

def inner(x, w):
    return (x @ w).tanh()

def block(x, w):
    y = checkpoint(inner, x.sin(), w, use_reentrant=False)
    y = checkpoint(inner, y.exp(), w, use_reentrant=False)
    return checkpoint(inner, y, w, use_reentrant=False).cos()

@torch.compile
def f(x, w):
    y = checkpoint(block, x, w, use_reentrant=False)
    return checkpoint(block, y, w, use_reentrant=False).sum()

x = torch.arange(6.).reshape(2, 3).div(5).requires_grad_()
w = torch.eye(3).requires_grad_()
y = f(x, w)
y.backward()
print(y, x.grad, w.grad)

layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3), torch.nn.Tanh())
with torch.no_grad():
    for p in layers.parameters():
        p.copy_(torch.arange(float(p.numel())).reshape(p.shape).sin())

@torch.compile
def g(x):
    return checkpoint_sequential(layers, 2, x, use_reentrant=False).sum()

x = torch.ones(2, 3, requires_grad=True)
y = g(x)
y.backward()
print(y, x.grad, type(y.grad_fn).__name__)
