"""FlexAttention compiled: its operator with the functions as subgraphs, and its backward's with the joint graph of the first."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

torch.manual_seed(0)
q, k, v = (torch.randn(1, 2, 8, 16) for _ in range(3))
slopes = torch.randn(2)


def causal(b, h, qi, ki):
    return qi >= ki


def slope(score, b, h, qi, ki):
    return score + slopes[h] * (qi - ki)


mask = create_block_mask(causal, 1, 1, 8, 8, device="cpu", BLOCK_SIZE=4)
attend = torch.compile(flex_attention)
print(attend(q, k, v, score_mod=slope, block_mask=mask).sum())
grouped = torch.compile(lambda q, k, v, mask: flex_attention(q, k, v, block_mask=mask, enable_gqa=True), dynamic=False)
print(grouped(torch.randn(1, 4, 8, 16), k, v, mask).sum())


@torch.compile
def capped(q, k, v, w, mask):
    q = q * w
    return flex_attention(q, k, v, score_mod=lambda s, b, h, qi, ki: torch.tanh(s) + w[h], block_mask=mask)


print(capped(q, k, v, torch.randn(16), mask).sum())


@torch.compile
def biased(q, k, v, bias, mask):
    return flex_attention(q, k, v, score_mod=lambda s, b, h, qi, ki: torch.tanh(s) * bias[h], block_mask=mask)


bias = torch.randn(2, requires_grad=True)
out = biased(q, k, v, bias, mask)
out.sum().backward()
print(out.sum(), bias.grad)


@torch.compile
def learned(q, k, v, scale, table, mask):
    score = lambda s, b, h, qi, ki: s * scale + table[h, qi]
    return flex_attention(q, k, v, score_mod=score, block_mask=mask, return_lse=True)


scale = torch.tensor(0.5, requires_grad=True)
table = torch.randn(3, 8, requires_grad=True)
limit = torch.tensor([3, 5])
mask = create_block_mask(lambda b, h, qi, ki: ki <= limit[h] + qi, None, 2, 8, 8, device="cpu", BLOCK_SIZE=4)
out, lse = learned(q, k, v, scale, table, mask)
(out.sum() + lse.sum()).backward()
print(out.sum(), lse.sum(), lse.shape, scale.grad, table.grad)
