"""Numbers of inputs, which Dynamo knows and AOTAutograd does not, with conditions on them."""

import torch

torch._dynamo.config.capture_scalar_outputs = True

@torch.compile
def pad(x, length):
    n = length.item()
    torch._check(n >= 2)
    torch._check(n <= 16)
    out = x.new_zeros(n, x.shape[1])
    out[: x.shape[0]] = x
    return out.cumsum(0)

for n in (5, 7):
    print(pad(torch.ones(4, 2), torch.tensor(n)).sum())

@torch.compile
def split(x, at):
    i = at.item()
    torch._check(i > 0)
    torch._check(i < x.shape[0])
    return x[:i].sum(), x[i:].mean()

for i in (3, 5):
    print(split(torch.arange(8.0), torch.tensor(i)))
