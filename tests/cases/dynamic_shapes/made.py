"""Tensors made with symbolic sizes."""

import torch


@torch.compile(dynamic=True)
def made(x, n):
    a, b = x.shape
    return (
        torch.arange(0, a * 2, 2) + torch.full((a,), b),
        torch.eye(a, b) * x,
        torch.ones(n, a).tril(),
        torch.linspace(0, 1, b).outer(torch.arange(float(n))),
        x.new_ones(a + b).cumsum(0),
        torch.zeros_like(x).view(b, a),
        torch.empty(a, n + 1).fill_(n),
        torch.tensor([a, b, n]) * 2,
    )


for shape, n in (((2, 3), 4), ((4, 5), 3)):
    for value in made(torch.ones(shape), n):
        print(value)
