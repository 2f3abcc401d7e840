"""Powers of sizes as factors."""

import torch


@torch.compile(dynamic=True)
def f(q, k):
    return q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5)


@torch.compile(dynamic=True)
def g(q):
    return q * (q.shape[-1] ** 0.5) + 1.0 / q.shape[0] 


@torch.compile(dynamic=True)
def h(q):
    return q / q.shape[1] ** 0.5, q.sum() * float(q.shape[0])


q, k = (torch.randn(3, 4, 8, requires_grad=True) for _ in range(2))
print(f(q, k).shape, g(q).shape, h(q)[0].shape)
f(q, k).sum().backward(); g(q).sum().backward(); h(q)[0].sum().backward()
