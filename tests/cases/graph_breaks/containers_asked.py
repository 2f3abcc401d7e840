"""Whether a container is empty makes its first element an input; a module's tuple is one constant; what an RNN is given has a type."""

from typing import NamedTuple

import torch
import torch.nn as nn


class State(NamedTuple):
    conv: torch.Tensor
    ssm: torch.Tensor


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2, bias=False)

    def forward(self, x, h=None):
        if h:
            return self.step(x, h)
        return self.l(x)

    def step(self, x, h):
        y = self.l(x)
        h[0].copy_(torch.roll(h[0], -1))
        return y + h[1] + h[0]


for h in [State(torch.arange(2.0), torch.ones(1, 2)), (torch.arange(2.0), torch.ones(1, 2)), [torch.arange(2.0), torch.ones(1, 2)]]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    print(torch.compile(Cell())(torch.ones(1, 2), h))


@torch.compile
def of_dict(x, h):
    y = x * 3
    if h:
        y = y + 1
    return y + h["b"], h["a"] + 1


print(of_dict(torch.ones(2), {"a": torch.ones(2), "b": torch.zeros(2)}))


class Shift(nn.Module):
    def __init__(self, shifts):
        super().__init__()
        self.shifts = shifts

    def forward(self, x):
        if self.shifts == (0,):
            return x * 2
        return x + len(self.shifts)


for shifts in [(0,), (0, 1), (2,)]:
    print(torch.compile(Shift(shifts))(torch.ones(1)))
