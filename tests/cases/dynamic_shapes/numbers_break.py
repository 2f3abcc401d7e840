"""Numbers that tensors hold where Python needs them: loops, texts, lists, branches; and what a check says when it fails."""

import torch

torch._dynamo.config.capture_scalar_outputs = True
seen = []


@torch.compile
def looped(x):
    n = x.sum().item()
    y = x * n
    for _ in range(n):
        y = y + 1
    return y - n


@torch.compile
def printed(x):
    mean = x.mean().item()
    y = x - mean
    print(f"mean {mean:.2f}")
    return y * mean, mean


@torch.compile
def chosen(x, k):
    n = x.max().item()
    if n > k:
        return x.clamp(max=k) + n
    return [x, x * 2][n % 2], n + 1


@torch.compile
def kept(x, known):
    n = x.sum().item()
    known["n"], known["twice"] = n, n * 2
    return x + n


@torch.compile(fullgraph=True)
def checked(x):
    n = x.sum().item()
    torch._check(n >= 2)
    torch._check(n < 8)
    return torch.arange(6.0)[:4] * n + torch.ones(n).sum()


for value in (1, 3, 2):
    print(looped(torch.tensor([value, 1])))
    print(printed(torch.tensor([value, 2.0])))
for value, k in ((4, 2), (1, 3), (2, 5), (7, 3)):
    print(chosen(torch.tensor([value, 0]), k))
for value in (5, 6):
    known = {}
    print(kept(torch.tensor([value]), known), known["n"] + 1, known["twice"])
for values in ([1, 2], [3, 4], [4, 4], [0, 1]):
    try:
        print(checked(torch.tensor(values)))
    except RuntimeError as error:
        print(type(error).__name__, str(error).splitlines()[0])
