import torch
from torch.utils.checkpoint import checkpoint
def inner(x,w): return torch.sin(x@w)
def outer(x,w): return torch.cos(checkpoint(inner,x,w,use_reentrant=False)@w)
def f(x,w):
    y=checkpoint(outer,x,w,use_reentrant=False)
    return checkpoint(outer,y,w,use_reentrant=False).sum()+y.exp().mean()
torch.manual_seed(0); x=torch.randn(4,4,requires_grad=True); w=torch.randn(4,4,requires_grad=True)
torch.compile(f,backend="aot_eager")(x,w).backward(); print(w.grad.norm().item())
