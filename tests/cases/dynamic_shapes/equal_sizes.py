"""Attention over batches: sizes of several inputs that turn out to be equal, and which of them is read."""

import torch
import torch.nn.functional as F

@torch.compile(dynamic=True)
def attn(q, k, v, mask=None):
    b, h, t, d = q.shape
    s = q @ k.transpose(-2, -1) / d ** 0.5
    if mask is not None:
        s = s.masked_fill(mask[:, None, None, :t], float("-inf"))
    return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, h * d)

torch.manual_seed(0)
for b, t in ((2, 5), (3, 7), (2, 9)):
    q, k, v = (torch.randn(b, 2, t, 4, requires_grad=True) for _ in range(3))
    m = torch.zeros(b, t, dtype=torch.bool)
    m[:, -1] = True
    o = attn(q, k, v, m)
    o.sum().backward()
    print(tuple(o.shape), round(o.sum().item(), 3), round(q.grad.abs().sum().item(), 3))
print(tuple(attn(q, k, v).shape))
