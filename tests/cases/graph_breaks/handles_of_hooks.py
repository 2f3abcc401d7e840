"""Hooks of what a compiled function computes, whose handles live on: a frame that keeps one is skipped."""

import torch
from torch._dynamo.testing import CompileCounterWithBackend


def ten_times(gradient):
    return gradient * 10


def dropped(x):
    y = x * 2
    handle = y.register_hook(ten_times)
    return y.sum()


def returned(x):
    y = x * 2
    return y.sum(), y.register_hook(ten_times)


def behind_a_break(x):
    y = x * 2
    handle = y.register_hook(ten_times)
    z = y.sum()
    torch._dynamo.graph_break()
    handle.remove()
    return z


def stored(x, handles):
    y = x * 2
    handles.append(y.register_hook(ten_times))
    return y.sum()


def block(x):
    y = x * 2
    with y.register_hook(ten_times):
        z = y.sum()
    return z


def called(x):
    return block(x + 1) * 2


def of_an_input(x):
    handle = x.register_hook(ten_times)
    handle.remove()
    return (x * 2).sum()


for function in dropped, returned, behind_a_break, block, called, of_an_input:
    counter = CompileCounterWithBackend("aot_eager")
    x = torch.ones(2, requires_grad=True)
    out = torch.compile(function, backend=counter)(x)
    if isinstance(out, tuple):
        out, handle = out
        handle.remove()
    out.backward()
    print(function.__name__, x.grad, counter.frame_count)
handles, x = [], torch.ones(2, requires_grad=True)
out = torch.compile(stored, backend="aot_eager")(x, handles)
handles[0].remove()
out.backward()
print(x.grad)
