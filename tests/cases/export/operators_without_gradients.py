# Higher-order operators where gradients are switched off: the region around them is no graph of its own.

import torch
from torch._higher_order_ops import while_loop
from torch.export import export


class Inside(torch.nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
        return y + x


class Whole(torch.nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)) * 2


class Loop(torch.nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.zeros((), dtype=torch.long), x))


class Plain(torch.nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x.sin()
        return y * x


for module in (Inside(), Whole(), Loop(), Plain()):
    program = export(module, (torch.ones(2),))
    print([(node.op, node.name) for node in program.graph.nodes])
    print(program.module()(torch.ones(2)), program.module()(-torch.ones(2)))
