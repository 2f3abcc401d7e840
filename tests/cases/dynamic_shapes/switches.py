"""Switches of Dynamo: which sizes are symbols without a mark."""

import torch

count = 0


def counting(gm, inputs):
    global count
    count += 1
    return gm


def calls(sizes, function=lambda x: x.sin() * x.shape[0], **options):
    global count
    torch._dynamo.reset()
    count = 0
    f = torch.compile(function, backend=counting, **options)
    counts = []
    for n in sizes:
        f(torch.ones(n, 2) if isinstance(n, int) else torch.ones(n))
        counts.append(count)
    print(counts)


sizes = (3, 4, 5, 1, 6, 0, 2, 8)
calls(sizes)
with torch._dynamo.config.patch(automatic_dynamic_shapes=False):
    calls(sizes)
with torch._dynamo.config.patch(assume_static_by_default=False):
    calls(sizes)
with torch._dynamo.config.patch(automatic_dynamic_shapes=False, recompile_limit=3):
    calls(sizes)
calls(((2, 3), (3, 2), (4, 4), (4, 5), (2, 2, 2), (3, 2, 2)))
calls(((3, 4), (4, 3), (5, 5), (7, 7)), lambda x: x @ x.t())
calls(((3, 4), (3, 4), (8, 4), (8, 6)), lambda x: x.view(-1, 2).sum(0))
calls((8, 6, 4, 5, 7, 10), lambda x: x * 2 if x.shape[0] % 2 == 0 else x + 1)
calls((3, 20, 4, 30, 10, 11), lambda x: x * 2 if x.shape[0] > 10 else x + 1)
calls((3, 4, 5, 6), lambda x: torch.cat([x, x]).view(2, -1).sum(0) if x.numel() < 11 else x, dynamic=True)
