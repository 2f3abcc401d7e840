"""Devices that factories are not told: of a block around the call, inside of the function, and `torch.set_default_device`."""

import torch
from torch._dynamo.testing import CompileCounterWithBackend


def made(x):
    return torch.ones(2).device, torch.arange(3).device, torch.rand(2, device="cpu").device, torch.zeros_like(x).device, x + 1


def block(x):
    y = x * 2
    with torch.device("meta"):
        a = torch.ones(2)
    return y + 1, a.device, torch.zeros(1).device


def called(x):
    return block(x * 2)[0] * 3


def sets(x):
    torch.set_default_device("meta")
    a = torch.full((2,), 3.0)
    torch.set_default_device(None)
    return a.device, x + torch.ones(2)


x = torch.ones(2)
counter = CompileCounterWithBackend("aot_eager")
compiled = torch.compile(made, backend=counter)
with torch.device("meta"):
    print(compiled(x))
print(compiled(x), counter.frame_count)
for function in block, called, sets:
    counter = CompileCounterWithBackend("aot_eager")
    print(torch.compile(function, backend=counter)(x), counter.frame_count, torch.get_default_device())
try:
    torch.compile(lambda x: block(x)[0] + called(x), backend="eager", fullgraph=True)(x)
except torch._dynamo.exc.Unsupported as error:
    print(str(error).split("\n\n")[0])
