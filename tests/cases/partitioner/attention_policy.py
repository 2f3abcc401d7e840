import torch, torch.nn as nn, torch.nn.functional as F
from functools import partial
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, CheckpointPolicy
def policy(ctx, op, *a, **k):
    return CheckpointPolicy.MUST_SAVE if "scaled_dot_product" in str(op) else CheckpointPolicy.MUST_RECOMPUTE
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.qkv=nn.Linear(16,48); s.o=nn.Linear(16,16)
    def forward(s,x):
        b,t,c=x.shape
        q,k,v=(z.view(b,t,2,8).transpose(1,2) for z in s.qkv(x).split(16,-1))
        return s.o(F.scaled_dot_product_attention(q,k,v,is_causal=True).transpose(1,2).reshape(b,t,c))
torch.manual_seed(0); m=A(); x=torch.randn(2,6,16,requires_grad=True)
def f(x): return checkpoint(m,x,use_reentrant=False,context_fn=partial(create_selective_checkpoint_contexts,policy)).sum()
torch.compile(f,backend="aot_eager")(x).backward(); print(round(x.grad.norm().item(),4))
