"""Loops that carry integers: numbers that only the run knows, in bodies and after them."""
import torch
from torch._higher_order_ops.while_loop import while_loop


@torch.compile(fullgraph=True, backend="aot_eager")
def count(n, x):
    return while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + i), (0, x))


for k in (3, 5):
    print(count(k, torch.zeros(2)))


@torch.compile(fullgraph=True, backend="aot_eager")
def gcd(a, b):
    return while_loop(lambda a, b: b != 0, lambda a, b: (b, a % b), (a, b))


print(gcd(12, 18))


@torch.compile(fullgraph=True, backend="aot_eager")
def powers(x, w):
    i, j, y = while_loop(lambda i, j, y: i < 4, lambda i, j, y: (i + 1, j * 2, y * w + j), (0, 1, x))
    return y * j + i, torch.arange(3) + i, i + j


print(powers(torch.ones(2), torch.full((2,), 0.5)))


@torch.compile(fullgraph=True, backend="aot_eager")
def rows(x):
    i, total = while_loop(lambda i, total: i < x.shape[0], lambda i, total: (i + 1, total + x[i]), (0, torch.zeros(3)))
    return total, i


print(rows(torch.arange(12.0).reshape(4, 3)))


@torch.compile(fullgraph=True, backend="aot_eager")
def named(x):
    first = {"i": 0, "x": x}
    (last,) = while_loop(lambda d: d["i"] < 3, lambda d: ({"i": d["i"] + 1, "x": d["x"] * 2},), (first,))
    return last["x"], last["i"], while_loop(lambda i, y: i < 2, lambda i, y: (5, y + 1), (0, x))


print(named(torch.ones(2)))


def refused(f, *args):
    try:
        print(torch.compile(f, fullgraph=True, backend="aot_eager")(*args))
    except Exception as e:
        print(type(e).__name__, str(e).split("from user code")[0].split("Caused by")[0].strip().splitlines()[:3])


def becomes_tensor(x):
    return while_loop(lambda i, x: i < 3, lambda i, x: (i + x.sum(), x.sin()), (0, x))


def decides(x):
    i, y = while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + i), (0, x))
    return y if i > 2 else y * 2


refused(becomes_tensor, torch.zeros(2))
refused(decides, torch.ones(2))

try:
    torch.compile(lambda x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.sin()), (0, x)), fullgraph=True, backend="aot_eager")(torch.ones(2, requires_grad=True))
except Exception as e:
    print(type(e).__name__, "all carried_inputs must be tensors for stack_output, got [<class 'int'>," in str(e))
