"""Hooks of modules that are registered after a compiled function's first call, and such as are taken away."""

import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

KINDS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_full_backward_pre_hook")


def compiled(f):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    return torch.compile(f, backend=counter), counter


def run(f, n=1):
    x = torch.ones(n, 2, requires_grad=True)
    f(x).sum().backward()
    return x.grad[0].tolist()


def linear():
    module = nn.Linear(2, 2)
    nn.init.ones_(module.weight)
    return module


for kind in KINDS:
    for name, make in {
        "root": lambda m: m,
        "inner": lambda m: nn.Sequential(m, nn.ReLU()),
        "closure": lambda m: lambda x: m(x) * 2,
    }.items():
        m, seen = linear(), []
        f, counter = compiled(make(m))
        run(f)
        getattr(m, kind)(lambda *a: seen.append(1))
        print(kind, name, run(f), seen, counter.frame_count)

m = linear()
f, counter = compiled(lambda x: m(x) * 2)
run(f)
m.register_forward_hook(lambda m, args, out: out * 10)
print("changes", run(f), counter.frame_count, run(f, 3), counter.frame_count)
m, seen = linear(), []
handle = m.register_forward_hook(lambda *a: seen.append(1))
f, counter = compiled(lambda x: m(x) * 2)
f(torch.ones(1, 2)), handle.remove(), f(torch.ones(1, 2))
print("removed", seen, counter.frame_count)
m, seen = linear(), []
handle = m.register_forward_hook(lambda *a: seen.append(1))
f, counter = compiled(lambda x: m(x) * 2)
f(torch.ones(1, 2)), handle.remove()
m.register_forward_hook(lambda *a: seen.append(2))
f(torch.ones(1, 2))
print("replaced", seen, counter.frame_count)
