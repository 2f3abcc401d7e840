import torch
import torch.nn as nn
from torch.export import AdditionalInputs, Dim, ShapesCollection, export

print(Dim("x"), Dim("y", min=2, max=5), Dim.AUTO, Dim.DYNAMIC(max=8), 2 * Dim("z") + 1)


class Bounded(nn.Module):
    def forward(self, x):
        return x + 1 if x.shape[0] > 5 else x - 1


for d in (Dim("n"), Dim("n", max=20), Dim("n", min=6, max=20), Dim.AUTO, Dim.DYNAMIC):
    try:
        ep = export(Bounded(), (torch.ones(8, 2),), dynamic_shapes=({0: d},))
        print(ep.range_constraints)
        ep.module()(torch.ones(3, 2))
    except Exception as e:
        print(type(e).__name__)
        print(str(e).split("The error above")[0])


class Below(nn.Module):
    def forward(self, x):
        return x + 1 if x.shape[0] < 10 and x.shape[1] % 2 == 0 else x - 1


for d in (Dim("n"), Dim("n", min=3), Dim("n", min=3, max=9)):
    try:
        ep = export(Below(), (torch.ones(8, 4),), dynamic_shapes=({0: d, 1: Dim.AUTO},))
        print(ep)
        ep.module()(torch.ones(4, 5))
    except Exception as e:
        print(type(e).__name__)
        print(str(e).split("The error above")[0])


class Pair(nn.Module):
    def forward(self, a, b):
        return a @ b


a, b = torch.ones(3, 4), torch.ones(4, 5)
shapes = ShapesCollection()
shapes[a] = {0: Dim("rows")}
print(export(Pair(), (a, b), dynamic_shapes=shapes))
more = AdditionalInputs()
more.add((torch.ones(7, 4), torch.ones(4, 9)))
ep = export(Pair(), (a, b), dynamic_shapes=more)
print(ep.range_constraints, ep.module()(torch.ones(2, 4), torch.ones(4, 2)))
for args in ((torch.ones(2, 5), torch.ones(5, 2)), (torch.ones(2, 4),)):
    try:
        ep.module()(*args)
    except Exception as e:
        print(type(e).__name__, e)
