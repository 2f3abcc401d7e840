# The example's own size has to be one that its named dimension allows; sizes compared after the export are not checked in calls.
import copy

import torch
from torch.export import Dim, export


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Scaled(torch.nn.Module):
    def forward(self, x, k):
        return x * 2, k.sum() + x.shape[0], torch.sym_sqrt(x.shape[0])


def attempt(first, second, sizes=(4, 4)):
    try:
        program = export(Add(), tuple(torch.ones(size) for size in sizes), dynamic_shapes={"x": {0: first}, "y": {0: second}})
        print(program.range_constraints)
    except Exception as error:
        print(type(error).__name__, str(error).split("\n")[0])


small, large, some = Dim("small", max=3), Dim("large", min=10), Dim("some", min=2, max=4)
attempt(large, large)
attempt(small, small)
attempt(some, some)
half = Dim("half", min=5)
attempt(half, half + 1, (4, 5))
attempt(2 * half, 2 * half)
attempt(Dim.AUTO(max=3), Dim.AUTO)
attempt(Dim.DYNAMIC(min=8), Dim.DYNAMIC)

program = export(Scaled(), (torch.ones(3, 4), torch.ones(3)), dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))
print([list(node.meta["val"].shape) == [3, 4] for node in program.graph.nodes if node.op == "placeholder"])
print(program.module()(torch.ones(2, 4), torch.ones(5)))


class Two(torch.nn.Module):
    def forward(self, x, y):
        return x.sin(), y.cos()


program = export(Two(), (torch.ones(3), torch.ones(4)), dynamic_shapes=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}))
copied = copy.deepcopy(program)
first, second = (node.meta["val"].shape[0] for node in program.graph.nodes if node.op == "placeholder")
print(bool(first == 3), bool(second > first))
for one in (program, copied, copy.deepcopy(program), program.run_decompositions()):
    try:
        print([tuple(out.shape) for out in one.module()(torch.ones(6), torch.ones(2))])
    except AssertionError as error:
        print(error)
