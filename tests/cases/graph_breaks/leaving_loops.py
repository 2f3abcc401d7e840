"""A branch on a tensor in a loop: frames with `break` are skipped."""
import torch
from torch._dynamo.utils import counters


def leaves(x):
    for i in range(3):
        x = x.sin()
        if x.max() > 5:
            break
    return x


def does_something_first(x):
    for i in range(3):
        x = x.sin()
        if x.max() > 5:
            x = x * 3
            break
        x = x + 1
    return x


def leaves_while(x):
    while True:
        x = x + 1
        if x.max() > 5:
            break
    return x


def has_else(x):
    i = 0
    while i < 3:
        i += 1
        x = x.sin()
        if x.max() > 5:
            break
    else:
        x = x - 1
    return x


def continues(x):
    for i in range(3):
        x = x.sin()
        if x.max() < 5:
            continue
        x = x + 1
    return x


def otherwise(x):
    best = None
    for i in range(3):
        x = x.sin()
        if best is None or x.max() > best:
            best = x.max()
        else:
            break
    return x


def inner(x):
    for i in range(3):
        for j in range(2):
            x = x.sin()
            if x.max() > 5:
                break
    return x


def prints(x):
    for i in range(3):
        x = x.sin()
        print("step", i)
        if i > 5:
            break
    return x


for function in (leaves, does_something_first, leaves_while, has_else, continues, otherwise, inner, prints):
    torch._dynamo.reset()
    counters.clear()
    result = torch.compile(function)(torch.ones(2))
    print(function.__name__, counters["stats"]["unique_graphs"], result)
