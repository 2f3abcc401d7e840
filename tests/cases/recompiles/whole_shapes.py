"""Whole shapes are compared at once."""
import torch
@torch.compile(backend="aot_eager", dynamic=True)
def f(x):
    if x.size() != (3, 4):
        return x + 1
    return x - 1
for s in ((5, 6), (7, 8), (3, 5), (4, 4), (3, 4), (3, 6)):
    print(f(torch.zeros(s)).sum().item())
@torch.compile(backend="aot_eager", dynamic=True)
def g(x, y):
    if x.shape == y.shape:
        return x + y
    return x.sum() - y.sum()
for a, b in (((3, 4), (3, 4)), ((5, 4), (5, 4)), ((5, 4), (3, 4)), ((6, 7), (5, 7)), ((6, 7), (6, 8)), ((2, 2), (2, 2))):
    print(g(torch.ones(a), torch.ones(b)).sum().item())

def h(x):
    return x + 1 if x.shape == (2, 3) else x - 1
entries = []
def backend(gm, example_inputs):
    entries.append(gm)
    return gm
c = torch.compile(h, backend=backend, dynamic=True)
for s in ((4, 5), (2, 5), (4, 3), (2, 3), (2, 4)):
    print(c(torch.ones(s)).sum().item(), len(entries))
def k(x, y):
    return x + y if x.shape[1:] == y.shape[1:] else x.sum() + y.sum()
c = torch.compile(k, backend=backend)
for m, n in ((3, 3), (4, 4), (4, 5), (6, 7), (7, 7)):
    print(c(torch.ones(2, m), torch.ones(2, n)).sum().item(), len(entries))
