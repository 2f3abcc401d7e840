import torch
from torch import Tensor
from typing import Tuple, List, Optional, Sequence
from torch.library import custom_op, register_fake, infer_schema

@custom_op("attn::fwd", mutates_args=(), device_types="cpu")
def attn_fwd(q: Tensor, k: Tensor, v: Tensor, scale: Optional[float] = None, causal: bool = False) -> Tuple[Tensor, Tensor]:
    s = q.size(-1) ** -0.5 if scale is None else scale
    logits = q @ k.transpose(-2, -1) * s
    if causal:
        n = q.size(-2)
        logits = logits.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
    lse = logits.logsumexp(-1)
    return ((logits - lse.unsqueeze(-1)).exp() @ v).contiguous(), lse

@attn_fwd.register_fake
def _(q, k, v, scale=None, causal=False):
    return q.new_empty(q.shape), q.new_empty(q.shape[:-1])

@custom_op("attn::bwd", mutates_args=())
def attn_bwd(do: Tensor, q: Tensor, k: Tensor, v: Tensor, lse: Tensor, scale: Optional[float], causal: bool) -> List[Tensor]:
    s = q.size(-1) ** -0.5 if scale is None else scale
    logits = q @ k.transpose(-2, -1) * s
    p = (logits - lse.unsqueeze(-1)).exp()
    if causal:
        p = p.tril()
    dv = p.transpose(-2, -1) @ do
    dp = do @ v.transpose(-2, -1)
    ds = p * (dp - (dp * p).sum(-1, keepdim=True)) * s
    return [ds @ k, ds.transpose(-2, -1) @ q, dv]

@attn_bwd.register_fake
def _(do, q, k, v, lse, scale, causal):
    return [torch.empty_like(t) for t in (q, k, v)]

def setup(ctx, inputs, output):
    q, k, v, scale, causal = inputs
    o, lse = output
    ctx.save_for_backward(q, k, v, lse)
    ctx.scale, ctx.causal = scale, causal
    ctx.set_materialize_grads(True)

def backward(ctx, do, dlse):
    q, k, v, lse = ctx.saved_tensors
    dq, dk, dv = attn_bwd(do, q, k, v, lse, ctx.scale, ctx.causal)
    return dq.contiguous(), dk.contiguous(), dv.contiguous(), None, None

torch.library.register_autograd("attn::fwd", backward, setup_context=setup)
print(infer_schema(lambda: None, mutates_args=()) if False else attn_fwd._opoverload._schema)

class Block(torch.nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = torch.nn.Linear(d, 3 * d)
        self.proj = torch.nn.Linear(d, d)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        o, _ = attn_fwd(q, k, v, None, True)
        return self.proj(o.transpose(1, 2).reshape(b, t, d))

torch.manual_seed(0)
m = Block(8, 2)
x = torch.randn(2, 5, 8)
ref = m(x)
ref.pow(2).mean().backward()
g = [p.grad.clone() for p in m.parameters()]
m.zero_grad()
c = torch.compile(m)
out = c(x)
print(torch.allclose(out, ref))
out.pow(2).mean().backward()
print([torch.allclose(a, p.grad) for a, p in zip(g, m.parameters())])
print(f"{sum(p.grad.abs().sum().item() for p in m.parameters()):.4f}")
