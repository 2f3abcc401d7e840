"""Attention of bfloat16: what is rounded on the way."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
q, k, v = (torch.randn(2, 2, 6, 8).bfloat16() for _ in range(3))
mask = torch.full((6, 6), float("-inf")).triu_(1).bfloat16()
for given in ({}, {"is_causal": True}, {"attn_mask": mask}, {"attn_mask": mask.float()}):
    out = F.scaled_dot_product_attention(q, k, v, **given)
    print(out.dtype, out.float().sum().item(), out.float().abs().sum().item())
