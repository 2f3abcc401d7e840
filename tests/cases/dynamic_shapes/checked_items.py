"""Conditions on a number that a tensor holds, stated in several ways."""

import torch

torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(fullgraph=True)
def f(x, n):
    k = (n + 1).item()
    torch._check(k > 0)
    torch._check(k < x.shape[0], lambda: "k too large")
    torch._check_is_size(k, max=6)
    return x[:k].sum() + torch.zeros(k).sum()

x = torch.arange(8.0, requires_grad=True)
for n in (2, 4):
    y = f(x, torch.tensor(n))
    y.backward()
    print(n, y.item(), x.grad.tolist())
try:
    f(x, torch.tensor(9))
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0])
