"""Conditions on sizes that the script states: `torch._check` makes them part of the graph, and guards."""

import torch

@torch.compile(dynamic=True)
def f(x, y):
    torch._check(x.shape[0] > 3)
    torch._check(x.shape[0] <= 64, lambda: "too long")
    torch._check(x.shape[0] == y.shape[0], "not equal")
    torch._check(x.shape[1] != 5)
    torch._check(x.shape[0] >= 1)
    torch._check(x.shape[1] >= 2)
    torch._check_is_size(x.shape[0])
    return (x + y[:, None]).sum(0)

for n in (4, 8, 12):
    print(f(torch.ones(n, 3), torch.arange(float(n))))
try:
    f(torch.ones(70, 3), torch.ones(70))
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0])
try:
    f(torch.ones(3, 3), torch.ones(3))
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0])
