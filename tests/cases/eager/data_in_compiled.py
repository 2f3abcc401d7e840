"""Assigning `.data` inside a compiled function: parameters get other memory, what viewed them keeps theirs."""

import torch
from torch import nn


@torch.compile(backend="aot_eager")
def average(model, average_model, decay):
    with torch.no_grad():
        for p, a in zip(model.parameters(), average_model.parameters()):
            a.data = decay * a.data + (1 - decay) * p.data


torch.manual_seed(0)
a, b = nn.Linear(2, 2), nn.Linear(2, 2)
before = b.weight.data
kept = before.clone()
for _ in range(2):
    average(a, b, 0.5)
print(b.weight, torch.equal(before, kept), b.weight._version)


@torch.compile(backend="aot_eager")
def step(w, x):
    loss = (w * x).sum()
    w.data = w.data - 0.1 * x
    return (w * 2).sum() + loss


w = torch.ones(3, requires_grad=True)
for _ in range(2):
    loss = step(w, torch.arange(3.0))
    loss.backward()
    print(loss, w, w.grad, w.is_leaf)
    w.grad = None


class Queue(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("items", torch.zeros(2, 4))
        self.register_buffer("at", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def push(self, x):
        i = int(self.at)
        self.items[:, i : i + x.size(0)] = x.T
        self.at[0] = (i + x.size(0)) % 4

    def forward(self, x):
        with torch.no_grad():
            self.items.data = self.items.data * 0.5
        y = x @ self.items.clone().detach()
        self.push(x)
        return y


queue = Queue()
compiled = torch.compile(queue, backend="aot_eager")
for i in range(3):
    print(compiled(torch.full((2, 2), i + 1.0)).sum(), queue.at.item())
print(queue.items)


@torch.compile(backend="aot_eager")
def reset(p, x):
    p.data.copy_(-x.mean(0))
    return p + x


p = nn.Parameter(torch.zeros(3))
print(reset(p, torch.ones(2, 3)), p)


@torch.compile(backend="aot_eager")
def own(x):
    y = x * 2
    y.data = x + 1
    return y * 3


print(own(torch.ones(2)))

w, mask = nn.Parameter(torch.ones(2, 2)), torch.eye(2)


@torch.compile(backend="aot_eager")
def f(x):
    w.data *= mask
    return x @ w


try:
    f(torch.ones(1, 2))
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[:4])


@torch.compile(backend="aot_eager")
def g(x):
    with torch.no_grad():
        w.data *= mask
    return x @ w


print(g(torch.ones(1, 2)), w)


@torch.compile(backend="aot_eager")
def h(x):
    w.data.mul_(3)
    return x @ w


print(h(torch.ones(1, 2)), w)
