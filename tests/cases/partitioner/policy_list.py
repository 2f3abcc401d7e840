import torch
from functools import partial
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
ops=[torch.ops.aten.mm.default]
def g(x,w1,w2): return torch.sigmoid(torch.tanh(x@w1)@w2)
def f(x,w1,w2): return checkpoint(g,x,w1,w2,use_reentrant=False,context_fn=partial(create_selective_checkpoint_contexts,ops)).sum()
torch.manual_seed(0); x,w1,w2=(torch.randn(6,6,requires_grad=True) for _ in range(3))
torch.compile(f,backend="aot_eager")(x,w1,w2).backward(); print(w1.grad)
