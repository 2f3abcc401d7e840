"""Equal sizes share a symbol; where they differ later, the function is recompiled."""

import torch

count = 0


def counting(gm, inputs):
    global count
    count += 1
    print([str(i) if not isinstance(i, torch.Tensor) else [str(s) for s in i.shape] for i in inputs])
    return gm


@torch.compile(dynamic=True, backend=counting)
def product(x, y):
    return x.unsqueeze(1) * y.unsqueeze(0)


for a, b in ((4, 4), (5, 5), (5, 6), (7, 2), (3, 3), (1, 3), (3, 1), (1, 1)):
    print(product(torch.ones(a), torch.ones(b)).shape, count)


@torch.compile(backend=counting)
def automatic(x, y):
    return x @ y + x.shape[0]


for a, b, c in ((2, 3, 4), (3, 3, 4), (4, 3, 5), (5, 6, 5), (6, 6, 6), (7, 1, 7)):
    print(automatic(torch.ones(a, b), torch.ones(b, c)).shape, count)
