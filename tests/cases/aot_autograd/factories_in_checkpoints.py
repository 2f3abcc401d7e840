import torch
from torch.utils.checkpoint import checkpoint

def block(x):
    pos = torch.arange(x.shape[1], device=x.device)
    mask = torch.zeros(x.shape[1], x.shape[1]).masked_fill(pos[None] > pos[:, None], 1.0)
    return torch.relu(x @ x.T + torch.ones_like(x @ x.T)).mean(0) * 1.0 + mask.sum() * x.new_zeros(()).add(1)

@torch.compile
def f(x):
    return checkpoint(block, x, use_reentrant=False).tanh().sum()
x = torch.ones(4, 4).mul(0.1).requires_grad_()
f(x).backward()
print(x.grad)
