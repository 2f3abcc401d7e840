"""Conditions on numbers that only the run knows: `torch._check` makes them part of the graph."""

import torch

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile(fullgraph=True)
def first(x, i):
    n = i.item()
    torch._check(n >= 1)
    torch._check(n <= x.shape[0])
    return x.narrow(0, 0, n).cumsum(0) * n


@torch.compile(fullgraph=True)
def filled(i):
    n = i.item()
    torch._check_is_size(n)
    return torch.zeros(n) + torch.arange(n)


x = torch.arange(10.0)
print(first(x, torch.tensor(4)))
print(first(x, torch.tensor(7)))
print(filled(torch.tensor(5)), filled(torch.tensor(3)))
try:
    first(x, torch.tensor(12))
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])
try:
    filled(torch.tensor(-2))
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])
