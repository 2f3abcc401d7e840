# Attention written out by hand: what becomes the fused operator, what becomes its composition, and what stays.
import math

import torch
import torch.nn.functional as F
from torch import nn


def tensor(*sizes):
    return torch.rand(*sizes).requires_grad_()


def divided(q, k, v):
    return (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(-1) @ v


def multiplied(q, k, v):
    return F.softmax(q @ k.transpose(-2, -1) * 0.25, dim=-1) @ v


def dropped(q, k, v):
    return F.dropout(F.softmax(q @ k.transpose(-2, -1) * 0.25, dim=-1), 0.1) @ v


def filled(q, k, v, mask):
    scores = (q @ k.transpose(-2, -1) / 4).masked_fill(mask == 0, float("-inf"))
    return scores.softmax(-1) @ v


def added(q, k, v, mask):
    return (q @ k.transpose(-2, -1) / 4 + mask).softmax(-1) @ v


def in_short_floats(q, k, v):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return divided(q, k, v)


class Heads(nn.Module):
    def __init__(self, p=0.0):
        super().__init__()
        self.qkv, self.out, self.drop = nn.Linear(32, 96), nn.Linear(32, 32), nn.Dropout(p)

    def forward(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, 4, 8).transpose(1, 2) for t in self.qkv(x).split(c, dim=2))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(8)
        if mask is not None:
            scores = scores + mask
        weights = self.drop(torch.softmax(scores, dim=-1))
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, c))


def run(f, *args):
    torch._dynamo.reset()
    try:
        torch.compile(f)(*args).float().sum().backward()
    except AssertionError:
        pass  # PyTorch compiles some of these and then finds a guard of its own wrong.


sizes = (2, 3, 8, 16)
for f in (divided, multiplied, dropped, in_short_floats):
    run(f, tensor(*sizes), tensor(*sizes), tensor(*sizes))
run(filled, tensor(*sizes), tensor(*sizes), tensor(*sizes), torch.ones(8, 8).tril())
run(added, tensor(*sizes), tensor(*sizes), tensor(*sizes), torch.zeros(8, 8))
run(Heads(), tensor(2, 8, 32))
run(Heads(), tensor(1, 8, 32))
run(Heads(0.1), tensor(2, 8, 32))
run(Heads(), tensor(2, 8, 32), torch.zeros(2, 1, 1, 8))
run(Heads().bfloat16(), torch.rand(2, 8, 32, dtype=torch.bfloat16))
