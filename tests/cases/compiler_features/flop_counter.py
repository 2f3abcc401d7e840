"""Floating point operations, by operator and by module."""

import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula


def work(x, w):
    y = x @ w
    for _ in range(3):
        y = torch.sin(y) + 0.01 * y
    return (y @ w.t()).sum()


def count(f):
    x, w = torch.ones(4, 8, requires_grad=True), torch.ones(8, 2, requires_grad=True)
    with FlopCounterMode(display=False) as c:
        f(x, w).backward()
    return c.get_total_flops()


g = torch.compile(work)
print(count(work), count(g), counters["stats"]["unique_graphs"])
g(torch.ones(4, 8, requires_grad=True), torch.ones(8, 2, requires_grad=True))
print(count(g), counters["stats"]["unique_graphs"])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.up = nn.ConvTranspose2d(2, 3, 2)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(3 * 49, 40), nn.ReLU(), nn.Linear(40, 2))

    def forward(self, x):
        return self.head(self.up(self.conv(x)))


net = Net()
with FlopCounterMode() as c:
    net(torch.ones(2, 1, 8, 8)).sum().backward()
print(c.get_table(depth=1))
print({name: sorted((str(op), n) for op, n in counts.items()) for name, counts in sorted(c.get_flop_counts().items())})
with torch.no_grad(), FlopCounterMode() as c:
    torch.ones(3, 4) @ torch.ones(4, 4)
    torch.bmm(torch.ones(2, 30, 40), torch.ones(2, 40, 50))
q = torch.ones(1, 2, 5, 4, requires_grad=True)
with FlopCounterMode(display=False) as c:
    scaled_dot_product_attention(q, q, q).sum().backward()
print(c.get_total_flops())


@register_flop_formula(torch.ops.aten.sin)
def sin_flop(shape, *args, out_shape=None, **kwargs):
    return 7 * shape.numel()


with FlopCounterMode(display=False) as c:
    torch.sin(torch.ones(3))
print(c.get_total_flops(), c.get_unsupported_ops())
with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.cos: lambda shape, out_shape: 2 * out_shape[0]}) as c:
    torch.cos(torch.ones(3))
print(c.get_flop_counts())
try:
    register_flop_formula(torch.ops.aten.mm)(sin_flop)
except RuntimeError as e:
    print(e)
with FlopCounterMode():
    torch.ones(2) + 1
