"""Control flow in exported programs."""

import torch
from torch import nn
from torch.export import Dim, export


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
        self.a.weight = nn.Parameter(torch.eye(2) * 2)
        self.b.weight = nn.Parameter(torch.eye(2) * -1)

    def forward(self, x):
        return torch.cond(x.mean() > 0, self.a, self.b, (x,)).relu()


def show(module, args, **options):
    program = export(module, args, **options)
    print([n.name for n in program.graph.nodes])
    print([(s.kind.name, s.arg.name, s.target) for s in program.graph_signature.input_specs])
    for name, body in program.graph_module.named_children():
        print(name, [n.name for n in body.graph.nodes])
    return program


program = show(Gated(), (torch.ones(1, 2),))
for v in (1.0, -1.0):
    print(program.module()(torch.full((1, 2), v)).tolist(), Gated()(torch.full((1, 2), v)).tolist())


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, p, x):
        return torch.cond(p, lambda v: v.cos() * self.scale, lambda v: v.sin(), (x,)), x + 1


program = show(Chosen(), (torch.tensor(True), torch.ones(3)))
print(program.module()(torch.tensor(False), torch.ones(3)))
show(Chosen(), (torch.tensor(True), torch.ones(2, 3)), dynamic_shapes=({}, {0: Dim("n")}))
