"""Programs in files whose sizes vary: guards beside ranges, sizes in the graph, calculated sizes, numbers that only a run knows."""
import io

import torch
from torch.export import Dim


def again(ep):
    file = io.BytesIO()
    torch.export.save(ep, file)
    return torch.export.load(file)


def refused(module, *args):
    try:
        module(*args)
        print("taken")
    except (AssertionError, RuntimeError) as error:
        print(error)


class Guarded(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] % 2 == 0:
            x = x + 1
        if x.shape[0] > 5:
            x = x * 2
        z = torch.cat([x, y])
        return z.view(x.shape[0] + y.shape[0], 1) * x.shape[0], x.shape[0] // 2


ep = torch.export.export(Guarded(), (torch.ones(8), torch.ones(6)), dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))
loaded = again(ep)
print(loaded)
print(loaded.range_constraints)
one, two = ep.module(), loaded.module()
x, y = torch.randn(10), torch.randn(3)
print(torch.equal(one(x, y)[0], two(x, y)[0]), two(x, y)[1])
refused(two, torch.ones(7), y)
refused(two, torch.ones(4), y)


class Halves(torch.nn.Module):
    def forward(self, x, y):
        return x[::2] + y


half = Dim("half", max=100)
ep = torch.export.export(Halves(), (torch.ones(8), torch.ones(4)), dynamic_shapes=({0: 2 * half}, {0: half}))
loaded = again(ep)
print(loaded.range_constraints, str(loaded) == str(ep))
print(loaded.module()(torch.ones(12), torch.ones(6)).shape)
refused(loaded.module(), torch.ones(12), torch.ones(5))


class Unbacked(torch.nn.Module):
    def forward(self, x):
        n = x.nonzero()
        u = x.sum().item()
        torch._check(n.shape[0] >= 2)
        return n.float() * 2, u, n.shape[0] * 2


ep = torch.export.export(Unbacked(), (torch.tensor([1, 0, 2, 3]),))
loaded = again(ep)
print(loaded)
print(loaded.module()(torch.tensor([1, 0, 0, 3])))
refused(loaded.module(), torch.tensor([1, 0, 0, 0]))
