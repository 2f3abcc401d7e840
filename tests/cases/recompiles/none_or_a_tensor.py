import torch

@torch.compile
def attend(q, k, mask=None, scale=None, causal=False):
    s = q @ k.t()
    if scale is not None:
        s = s * scale
    if mask is not None:
        s = s.masked_fill(mask, float("-inf"))
    if causal:
        s = s.tril()
    return s.softmax(-1).sum()

q, k = torch.randn(4, 8), torch.randn(4, 8)
m = torch.zeros(4, 4, dtype=torch.bool)
attend(q, k)
attend(q, k, m)
attend(q, k, m, 0.5)
attend(q, k, m, scale=0.25)
attend(q, k, causal=True)
attend(q, k, scale="2" and 2)
print("done")
