"""Sizes as a script asks for them: shapes compared, counted, unpacked, put into texts and dictionaries."""

import torch


@torch.compile(dynamic=True)
def asked(x, y, known):
    if x.shape == y.shape:
        x = x + y
    known["rows"] = x.size(0)
    known["count"] = x.numel() + len(y)
    *batch, width = x.shape
    flat = x.reshape(-1, width)
    last = x.size()[-1]
    return flat.sum(0) * x.dim() + sum(batch) + last + x.shape[1:].numel()


for a, b in (((2, 3, 4), (2, 3, 4)), ((3, 5, 4), (3, 5, 4)), ((3, 5, 4), (6, 5, 4))):
    known = {}
    print(asked(torch.ones(a), torch.ones(b), known), known)


@torch.compile(dynamic=True)
def named(x):
    names = {f"{x.shape[0]}x{x.shape[1]}": x}
    return names[f"{x.shape[0]}x{x.shape[1]}"] + 1


print(named(torch.ones(2, 3)), named(torch.ones(3, 2)))
