import torch
from torch.utils.checkpoint import checkpoint

def block(x, w):
    return (x @ w).relu().sin()

@torch.compile
def f(x, w):
    y = checkpoint(block, x, w, use_reentrant=True)
    return checkpoint(block, y, w, use_reentrant=True).sum()

x = torch.arange(6.).reshape(2, 3).div(5).requires_grad_()
w = torch.eye(3).requires_grad_()
y = f(x, w)
y.backward()
print(y, x.grad, w.grad)
