# What a body of control flow is given: the symbols in the sizes of its tensors, too.
import torch
from torch._higher_order_ops.map import map as hop_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


@torch.compile(fullgraph=True, dynamic=True)
def chosen(x, w):
    n = x.shape[0]
    return torch.cond(x.sum() > 4, lambda a: (a * n) @ w, lambda a: a.view(n, -1) @ w, (x,))


w = torch.ones(3, 2, requires_grad=True)
for n in (4, 2):
    y = chosen(torch.full((n, 3), 0.5), w)
    y.sum().backward()
    print(y, w.grad)


@torch.compile(fullgraph=True, dynamic=True)
def looped(x, y):
    return while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * y), (torch.tensor(0), x))


@torch.compile(fullgraph=True, dynamic=True)
def mapped(rows, y):
    return hop_map(lambda row, z: row.sin() * z, rows, y)


@torch.compile(fullgraph=True, dynamic=True)
def scanned(c, rows, y):
    return scan(lambda c, row: (c + row * y, c.clone()), c, rows)


for n in (4, 5):
    print(looped(torch.ones(n), torch.full((n,), 2.0)))
    print(mapped(torch.ones(n, 3), torch.arange(3.0)))
    carry, rows = scanned(torch.zeros(3), torch.ones(n, 3), torch.arange(3.0))
    print(carry, rows.shape)
