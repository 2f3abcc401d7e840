"""A function whose result is assumed to be constant is called while a graph is captured, and not when the graph runs again."""

import torch

state = {"factor": 3}


@torch.compiler.assume_constant_result
def factor(k):
    print("factor", k)
    return k * state["factor"]


@torch.compile(backend="aot_eager")
def f(x):
    return x * factor(2)


print(f(torch.ones(2)))
state["factor"] = 5
print(f(torch.ones(2)))
print(factor(2))
# Compiled again, it is called again; what was compiled before keeps its constant.
print(f(torch.ones(3)))
print(f(torch.ones(3, dtype=torch.float64)))
state["factor"] = 7
print(f(torch.ones(2)))
print(f(torch.ones(3, dtype=torch.float64)))



@torch.compiler.assume_constant_result
def named(*, k, scale=1.0):
    print("named", k, scale)
    return [k * scale, k]


@torch.compile(backend="aot_eager")
def g(x):
    a, b = named(k=3, scale=0.5)
    c, _ = named(k=4)
    return x + a + b - c


print(g(torch.zeros(2)), g(torch.zeros(2)))
