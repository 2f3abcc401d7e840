# A function that an operator takes may change nothing outside of itself: the operator may run it again, or not at all. A checkpoint
# whose function does, or breaks the graph, is called by Python, and its backward runs the function once more.
import collections

import torch
from torch._higher_order_ops import while_loop
from torch.utils.checkpoint import checkpoint

x = torch.tensor([0.5, 1.0], requires_grad=True)


def count(name, function, changed=lambda: None):
    torch._dynamo.reset()
    x.grad = None
    f = torch.compile(lambda x: checkpoint(function, x * 2, use_reentrant=False) + 1)
    for _ in range(2):
        f(x).sum().backward()
    print(name, changed(), x.grad)


log = []


def appends(v):
    log.append(len(log))
    return v.sin() * v


count("list", appends, lambda: log)


class Counted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.scale = torch.nn.Parameter(torch.ones(2))

    def forward(self, v):
        self.calls += 1
        return (v * self.scale).tanh()


counted = Counted()
count("attribute", counted, lambda: (counted.calls, counted.scale.grad))
total = 0


def sets_global(v):
    global total
    total += 1
    return v.exp()


count("global", sets_global, lambda: total)


def prints(v):
    y = v.cos()
    print("in the function")
    return y * v


count("print", prints)


def reads(v):
    y = v.sigmoid()
    return y * y.sum().item()


count("item", reads)


class Flag:
    on = False

    def __init__(self):
        self.value = 1


flag = Flag()


def restores(v):
    flag.value = 2
    y = v * flag.value
    flag.value = 1
    return y.sin()


count("what it was by the end", restores, lambda: flag.value)


def keeps_to_itself(v):
    held = []
    held.append(v.sin())
    own = Flag()
    own.value = held[0] * 2
    by_name = {}
    by_name["a"] = own.value
    return by_name["a"] * v


count("its own", keeps_to_itself)


def of_caller(x):
    calls = []

    def body(v):
        calls.append(1)
        return v.sin()

    return checkpoint(body, x, use_reentrant=False) * len(calls)


x.grad = None
print(torch.compile(of_caller)(x))


def refused(name, f, *args):
    torch._dynamo.reset()
    try:
        print(name, torch.compile(f, fullgraph=True)(*args))
    except Exception as e:
        lines = str(e).split("\n")
        said = [line.strip() for line in lines if "Explanation" in line or "debug context" in line]
        print(name, type(e).__name__, lines[0], *said, sep="\n  ")


names = {"a": 1}
waiting = collections.deque()
refused("append", lambda x: checkpoint(appends, x, use_reentrant=False), x)
refused("attribute", lambda x: checkpoint(counted, x, use_reentrant=False), x)
refused("global", lambda x: checkpoint(sets_global, x, use_reentrant=False), x)


def by_key(v):
    names["b"] = 2
    return v.sin()


def updates(v):
    names.update(c=3)
    return v.sin()


def waits(v):
    waiting.append(1)
    return v.sin()


def forgets(v):
    del names["a"]
    return v.sin()


for function in (by_key, updates, waits, forgets):
    refused(function.__name__, lambda x: checkpoint(function, x, use_reentrant=False), x)
print(names, waiting, len(log), counted.calls, total)

refused("cond", lambda x: torch.cond(x.sum() > 0, appends, torch.cos, (x,)), x.detach())


def steps(i, v):
    log.append(i)
    return i + 1, v * 2


refused("while_loop", lambda x: while_loop(lambda i, v: i < 3, steps, (torch.tensor(0), x)), x.detach())
try:
    torch.cond(torch.tensor(True), appends, torch.cos, (x.detach(),))
except Exception as e:
    print(type(e).__name__, str(e).split("\n")[2])
print(len(log))

with torch._dynamo.config.patch(skip_fwd_side_effects_in_bwd_under_checkpoint=True):
    count("skipped in the backward", appends, lambda: len(log))
    count("skipped in the backward", counted, lambda: counted.calls)
