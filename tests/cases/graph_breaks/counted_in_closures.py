"""Counters in variables that functions close over, beside numbers that their graphs depend on."""
import torch

def make(scale, n):
    count = 0
    def inner(x):
        nonlocal count
        count += 1
        for _ in range(n):
            x = torch.tanh(x * scale)
        return x, count
    return inner

f = make(2.0, 2)
g = make(3.0, 2)
h = make(2.0, 3)
cf, cg, ch = torch.compile(f), torch.compile(g), torch.compile(h)
x = torch.linspace(-1, 1, 5)
print(cf(x))
print(cf(x))
print(cg(x))
print(ch(x))
print(cf(x))

def apply(fn, x):
    return fn(x) + 1
ca = torch.compile(apply)
print(ca(torch.sin, x))
print(ca(lambda t: t * 2, x))
print(ca(torch.cos, x))
