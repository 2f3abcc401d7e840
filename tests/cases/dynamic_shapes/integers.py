"""Integers of a call that vary: factors, sizes, bounds of slices, attributes, counters."""

import torch


@torch.compile
def grid(x, n, m=2):
    return x.expand(n, -1)[:, :m] * n + torch.arange(m)


@torch.compile
def rolled(x, k):
    return torch.roll(x, k) + k % 2


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        self.steps += 1
        return self.linear(x) * self.steps


x = torch.arange(4.0)
for n, m in ((2, 2), (3, 2), (5, 3), (1, 4), (7, 4)):
    print(grid(x, n, m))
for k in (1, 2, 3, -1, 0):
    print(rolled(x, k))
torch.manual_seed(0)
model = Model()
compiled = torch.compile(model)
for _ in range(4):
    print(compiled(torch.ones(1, 3)))
print(model.steps)
