"""A causal attention layer with positions, for batches and lengths that vary."""

import math

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width=8, heads=2, longest=16):
        super().__init__()
        self.heads = heads
        self.positions = nn.Embedding(longest, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.register_buffer("mask", torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest))

    def forward(self, x):
        b, t, c = x.shape
        assert t <= self.mask.shape[-1], f"too long: {t}"
        x = x + self.positions(torch.arange(t, device=x.device))
        q, k, v = (p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in self.qkv(x).split(c, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        return (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(b, t, c)


torch.manual_seed(0)
block = Block()
compiled = torch.compile(block)
for b, t in ((2, 5), (3, 7), (2, 9), (4, 16)):
    block.zero_grad()
    out = compiled(torch.linspace(-1, 1, b * t * 8).reshape(b, t, 8))
    out.square().mean().backward()
    print(out.shape, [round(v, 5) for v in block.qkv.bias.grad[:4].tolist()])
