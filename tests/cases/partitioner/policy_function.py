import torch, torch.nn as nn
from functools import partial
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, CheckpointPolicy
aten = torch.ops.aten
def policy(ctx, op, *args, **kwargs):
    if op in (aten.mm.default, aten.addmm.default):
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE
class Block(nn.Module):
    def __init__(s):
        super().__init__(); s.a=nn.Linear(8,32); s.b=nn.Linear(32,8); s.n=nn.LayerNorm(8)
    def forward(s,x): return x + s.b(torch.nn.functional.gelu(s.a(s.n(x))))
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.l=nn.ModuleList(Block() for _ in range(2))
    def forward(s,x):
        for l in s.l: x = checkpoint(l,x,use_reentrant=False,context_fn=partial(create_selective_checkpoint_contexts, policy))
        return x.sum()
torch.manual_seed(0); m=M(); x=torch.randn(4,8,requires_grad=True)
torch.compile(m,backend="aot_eager")(x).backward(); print(x.grad.sum().item(), m.l[0].a.weight.grad.norm().item())
