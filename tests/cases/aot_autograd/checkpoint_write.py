import torch

from torch.utils.checkpoint import checkpoint
def block(x, w):
    y = x @ w
    y.mul_(2)
    return y.sin()
@torch.compile
def f(x, w):
    return checkpoint(block, x, w, use_reentrant=False) + x
x, w = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
out = f(x, w)
out.sum().backward()
print(out, x.grad, w.grad)
