"""Numbers that tensors hold, in the graph: integers, floats, what is computed with them."""

import torch

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile(fullgraph=True)
def scaled(x):
    total = x.sum().item()
    return x * total + total * 2


@torch.compile(fullgraph=True)
def shifted(x, i):
    n = i.item()
    return x + n, n * 3 - 1


@torch.compile(fullgraph=True)
def trained(x, w):
    scale = w.abs().max().item()
    return (x @ w / scale).relu().sum()


x = torch.arange(6.0).reshape(2, 3)
print(scaled(x), scaled(x + 1))
for value in (4, 7, 0):
    print(shifted(x, torch.tensor(value)))
w = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
trained(x, w).backward()
print(w.grad)
