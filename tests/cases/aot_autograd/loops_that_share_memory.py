"""Loops whose functions read from outside what is carried: PyTorch takes the one tensor for an alias, and refuses it."""
import torch
from torch._higher_order_ops.while_loop import while_loop


def attempt(f, *args):
    try:
        print(f(*args))
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[:2])


@torch.compile
def closure(x):
    source = x
    return while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v + source), (torch.tensor(0), x))


@torch.compile
def apart(x):
    source = x * 2
    return while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v + source), (torch.tensor(0), x))


attempt(closure, torch.ones(2))
attempt(apart, torch.ones(2))
