# What a script states with torch._check of numbers that only a run knows is checked by the exported program, right behind the calls that
# read them, with the ranges of those numbers.
import torch
from torch.export import Dim, export


def show(module, args, dynamic_shapes, calls, text=True):
    print(type(module).__name__)
    program = export(module, args, dynamic_shapes=dynamic_shapes)
    if text:
        print(program.graph_module.code.strip())
        print(program.range_constraints)
    for call in calls:
        try:
            print(program.module()(*call))
        except RuntimeError as e:
            print(type(e).__name__, str(e).split(" on node")[0])


class Product(torch.nn.Module):
    def forward(self, a):
        n = a[0].item()
        torch._check(n >= 2)
        torch._check(n * a.shape[0] == 12)
        return torch.ones(n)


class Bound(torch.nn.Module):
    def forward(self, a, b):
        n = a.item()
        torch._check(n <= b.shape[0])
        torch._check(n >= 0)
        return b[:n].sum()


class Listed(torch.nn.Module):
    def forward(self, a):
        n, m = a.tolist()
        torch._check(n == m)
        return torch.zeros(n) + torch.ones(m)


class Divisible(torch.nn.Module):
    def forward(self, a):
        n = a.item()
        torch._check_is_size(n)
        torch._check(n % 4 == 0)
        return torch.zeros(n).view(-1, 4)


class Strict(torch.nn.Module):
    def forward(self, a):
        n = a.item()
        torch._check(n > 1)
        torch._check(n < 6)
        return torch.ones(n)


class Shared(torch.nn.Module):
    def forward(self, a, b):
        n = a.item()
        twice = n * 2
        torch._check(twice <= b.shape[0])
        torch._check(twice != b.shape[0])
        return b[:n].sum()


class Counted(torch.nn.Module):
    def forward(self, x, y):
        n = y.nonzero().shape[0]
        torch._check(n == x.shape[0])
        return x + torch.zeros(n)


tensor = torch.tensor
show(Product(), (tensor([2, 3, 4, 5, 6, 7]),), {"a": (Dim.DYNAMIC,)}, [(tensor([5, 1, 1, 1]),), (tensor([3, 1, 1, 1]),)])
calls = [(tensor(3), torch.arange(4.0)), (tensor(7), torch.arange(4.0))]
show(Bound(), (tensor(2), torch.arange(5.0)), {"a": None, "b": (Dim("n", min=2, max=64),)}, calls)
show(Listed(), (tensor([2, 2]),), None, [(tensor([3, 3]),), (tensor([3, 4]),)])
show(Divisible(), (tensor(8),), None, [(tensor(12),), (tensor(7),)])
show(Strict(), (tensor(3),), None, [(tensor(5),), (tensor(1),), (tensor(6),)], text=False)
calls = [(tensor(2), torch.arange(5.0)), (tensor(3), torch.arange(6.0)), (tensor(4), torch.arange(6.0))]
show(Shared(), (tensor(2), torch.arange(9.0)), {"a": None, "b": {0: Dim.DYNAMIC}}, calls, text=False)
calls = [(torch.ones(2), tensor([1, 1, 0])), (torch.ones(2), tensor([1, 1, 1])), (torch.ones(2), tensor([1, 0, 0]))]
show(Counted(), (torch.ones(3), tensor([1, 0, 1, 1])), {"x": (Dim.DYNAMIC,), "y": (Dim.DYNAMIC,)}, calls, text=False)
