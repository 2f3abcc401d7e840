"""`tolist` of integers in a graph; sizes made of them."""

import torch

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile(fullgraph=True)
def parts(x, sizes):
    a, b = sizes.tolist()
    torch._check(a >= 0)
    torch._check(b >= 0)
    return [part.sum() for part in torch.split(x, [a, b])]


@torch.compile(fullgraph=True)
def total(sizes):
    return torch.ones(2) * sum(sizes.tolist())


x = torch.arange(10.0)
print(parts(x, torch.tensor([4, 6])), parts(x, torch.tensor([1, 9])))
print(total(torch.tensor([2, 3, 4])))
