"""Where tracing ends in an error, what the function had changed in Python's objects is as it was before: lists, dictionaries, attributes,
variables. What came before a graph break was run, and stays."""
from collections import deque

import torch

log, table, seen, last = [], {"n": 0}, {1}, deque([0], maxlen=3)
count = 0


class Model(torch.nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.step = 0
        self.kept = None
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x, bad):
        self.step += 1
        Model.calls += 1
        self.kept = x * 2
        self.total = self.total + x[0]
        return x @ bad


def change(x, bad):
    global count
    count += 1
    log.append(x * 2)
    table["n"] += 1
    table["x"] = x + 1
    seen.add(5)
    last.append(x.shape[0])
    return x.view(bad)


def late(x, bad):
    log.append("before")
    torch._dynamo.graph_break()
    return x.view(bad)


def make():
    n = 0

    def bump(x):
        nonlocal n
        n += 1
        torch._dynamo.graph_break()
        return x

    return bump, lambda: n


def failing(gm, inputs):
    raise ValueError("no")


def tell(name, f, *args):
    try:
        print(name, f(*args).shape)
    except Exception as e:
        print(name, type(e).__name__)
    print("  ", len(log), table, sorted(seen), list(last), count)


x = torch.ones(2, 2)
for fullgraph in (False, True):
    tell("change", torch.compile(change, backend="eager", fullgraph=fullgraph), x, (5,))
tell("served", torch.compile(change, backend="eager"), x, (4,))
log.clear()
tell("late", torch.compile(late, backend="eager"), x, (5,))
print(log)
tell("backend", torch.compile(change, backend=failing), x, (2, 2, 1))
m = Model()
for fullgraph in (False, True):
    try:
        torch.compile(m, backend="eager", fullgraph=fullgraph)(x, torch.ones(3))
    except Exception as e:
        print(type(e).__name__, m.step, Model.calls, m.kept, m.total)
bump, peek = make()
try:
    torch.compile(bump, backend="eager", fullgraph=True)(x)
except Exception as e:
    print(type(e).__name__, peek())
