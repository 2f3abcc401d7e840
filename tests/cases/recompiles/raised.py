import torch
from torch._dynamo.testing import CompileCounter

# Where nothing in a function catches an exception, Dynamo does not look into the function again.
counter = CompileCounter()


def attempt(f, *args):
    try:
        print(f(*args), counter.frame_count)
    except (ValueError, KeyError) as e:
        print(repr(e), counter.frame_count)


def checked(x, flag):
    y = x + 1
    if flag:
        raise ValueError("bad")
    return y * 2


f = torch.compile(checked, backend=counter)
for flag in (True, False, True, False):
    attempt(f, torch.ones(2), flag)
torch._dynamo.reset()
counter.clear()
f = torch.compile(checked, backend=counter)
for flag in (False, True, False):
    attempt(f, torch.ones(2), flag)
for n in (3, 4):
    attempt(f, torch.ones(n), False)


def look_up(x, table, key):
    return x * table[key]


torch._dynamo.reset()
counter.clear()
g = torch.compile(look_up, backend=counter)
for key in ("a", "b", "a", "c"):
    attempt(g, torch.ones(2), {"a": 2, "c": 3}, key)


def after_break(x, flag):
    y = x + 1
    print("broken")
    z = y * 2
    if flag:
        raise ValueError("late")
    return z - 1


torch._dynamo.reset()
counter.clear()
h = torch.compile(after_break, backend=counter)
for flag in (True, False, False):
    attempt(h, torch.ones(2), flag)


def caught(x, flag):
    try:
        return checked(x, flag)
    except ValueError:
        return x - 1


torch._dynamo.reset()
counter.clear()
k = torch.compile(caught, backend=counter)
for flag in (True, False, True):
    attempt(k, torch.ones(2), flag)


# What an operator raises is no exception that Dynamo observes.
torch._dynamo.reset()
counter.clear()
rows = torch.compile(torch.vmap(lambda x: x.sum(1)), backend=counter)
try:
    rows(torch.ones(2, 3))
except IndexError as e:
    print(type(e).__name__, counter.frame_count)
attempt(rows, torch.ones(2, 3, 4))
