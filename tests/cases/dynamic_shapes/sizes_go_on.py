"""Sizes that were symbolic in one graph are symbols in the next that is compiled for what it returned, seen to vary or not."""

import torch
import torch.nn as nn

torch.manual_seed(0)


@torch.compile
def embed(x):
    return x.sin() + 1


@torch.compile
def score(a, b, n):
    return (a.view(3, n, -1).mean(1)[:, None] - b[None]).square().sum(-1)


for rows in (6, 9, 6):
    a, b = embed(torch.randn(rows, 4, requires_grad=True)), embed(torch.randn(6, 4))
    score(a, b, rows // 3).sum().backward()
    print(rows, tuple(a.shape))


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, xs, h=None):
        if h is None:
            h = xs.new_zeros(xs.shape[1], 3)
        for x in xs:
            h = (self.inner(x) + self.outer(h)).tanh()
        return h


cell = torch.compile(Cell())
h = None
for batch in (2, 2, 4):
    h = cell(torch.randn(3, batch, 3), h if h is not None and len(h) == batch else None).detach()
    print(tuple(h.shape))


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x * 2 + 1


counter = Counter()
counted = torch.compile(counter)
for rows in (2, 3, 4):
    print(counted(torch.ones(rows)).sum(), counter.calls)


@torch.compile(dynamic=True)
def joined(q, k):
    b, h, t, d = q.shape
    return (q @ k.transpose(-2, -1)).softmax(-1).reshape(b, t, h * t)


print(joined(torch.ones(2, 2, 3, 4), torch.ones(2, 2, 3, 4)).shape)
