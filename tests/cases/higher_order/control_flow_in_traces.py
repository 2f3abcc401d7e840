"""Control flow that `make_fx` meets: an operator with its functions as graphs."""

import torch
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map
from torch.fx.experimental.proxy_tensor import make_fx


def show(name, f, *args, **options):
    gm = make_fx(f, **options)(*args)
    print(name, gm.code.strip())
    for child, body in gm.named_children():
        print(child, body.code.strip())
    return gm


w, yes, x = torch.arange(3.0), torch.tensor(True), torch.ones(3)
gm = show("cond", lambda p, x: torch.cond(p, lambda v: (v * w).cos(), lambda v: v.sin(), (x,)) + 1, yes, x)
print(gm(yes, x), gm(~yes, x))
show("fake", lambda p, x: torch.cond(p.sum() > 0, lambda v: (v.cos(), v * 3), lambda v: (v.sin(), v * 2), (x,))[0] * 2, yes, x, tracing_mode="fake")
show(
    "nested",
    lambda p, x: torch.cond(p, lambda v: torch.cond(v.sum() > 0, lambda z: z.cos(), lambda z: z.sin(), (v,)), lambda v: v.sin(), (x,)),
    yes,
    x,
)
gm = show("while", lambda i, x: while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (i, x)), torch.tensor(0), x)
print(gm(torch.tensor(1), x))
gm = show("scan", lambda i, x: scan(lambda c, r: (c + r, c * r), i, x), torch.zeros(2), torch.ones(3, 2))
print(gm(torch.zeros(2), torch.ones(4, 2)))
show("map", lambda x, y: map(lambda r, y: r * y, x, y), torch.ones(3, 2), torch.ones(2))
