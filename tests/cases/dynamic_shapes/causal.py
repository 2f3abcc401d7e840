"""Causal attention over inputs whose lengths are equal, which only their use shows."""

import torch, math
torch.manual_seed(0)
@torch.compile
def attn(q, k, v):
    T = q.size(-2)
    att = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    mask = torch.tril(torch.ones(T, T, dtype=torch.bool))
    att = att.masked_fill(~mask, float("-inf"))
    return att.softmax(-1) @ v
for t in (4, 5, 8):
    q, k, v = (torch.randn(2, t, 8, requires_grad=True) for _ in range(3))
    attn(q, k, v).pow(2).mean().backward()
    print(t, round(q.grad.abs().sum().item(), 4))
