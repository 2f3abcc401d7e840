"""Side effects of checkpointed functions: the graph ends before them, and each is called again for backward."""
import torch, torch.nn as nn
from torch.utils.checkpoint import checkpoint
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        return x.sin()
def run(f, bs):
    for b in bs: b.calls = 0
    x = torch.ones(2, requires_grad=True)
    o = f(x); print([b.calls for b in bs]); o.sum().backward(); print([b.calls for b in bs])
b1, b2 = Block(), Block()
@torch.compile(backend="aot_eager")
def f1(x):
    return checkpoint(b1, x, use_reentrant=False) + 1
run(f1, [b1])
@torch.compile(backend="aot_eager")
def f2(x):
    x = checkpoint(b1, x, use_reentrant=False)
    x = checkpoint(b2, x, use_reentrant=False)
    return x + 1
run(f2, [b1, b2])
bs = [Block(), Block(), Block()]
@torch.compile(backend="aot_eager")
def f3(x):
    for b in bs:
        x = checkpoint(b, x, use_reentrant=False)
    return x + 1
run(f3, bs)
