"""Numbers that vary and that a compiled function counts in objects, dictionaries and lists; what it counts on each side of a branch."""
from dataclasses import dataclass, field

import torch

log = []


def length(x):
    log.append(x.shape[0])
    return x * 2


compiled = torch.compile(length)
for n in (3, 4, 5):
    compiled(torch.ones(n))
    print(log, [type(v).__name__ for v in log])


@dataclass
class State:
    hidden: torch.Tensor
    step: int = 0
    log: list = field(default_factory=list)


def cell(state, x):
    hidden = torch.relu(state.hidden + x) * 0.5
    state.log.append(("step", state.step))
    return State(hidden, state.step + 1, state.log)


compiled = torch.compile(cell)
state = State(torch.zeros(4))
for i in range(4):
    state = compiled(state, torch.full((4,), float(i)))
    print(state.step, type(state.step).__name__, state.hidden.sum().item(), state.log)

calls = {"positive": 0, "other": 0}


def branches(x):
    y = x.sin()
    if y.sum() > 0:
        calls["positive"] += 1
        return y * 2
    else:
        calls["other"] += 1
        return y * 3


compiled = torch.compile(branches)
for value in (1.0, -1.0, 1.0, -1.0):
    print(compiled(torch.full((2,), value)).tolist(), calls, type(calls["other"]).__name__)
