"""Dimensions that the script relates to each other, or that the program does: equal, calculated, divisible, bounded."""
import torch
from torch.export import Dim, export


class One(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


class Two(One):
    def forward(self, x, y):
        return self.f(x, y)


def attempt(name, f, shapes, dims, *calls):
    print("--", name)
    args = tuple(torch.ones(shape) for shape in shapes)
    try:
        program = export((One if len(shapes) == 1 else Two)(f), args, dynamic_shapes=dims)
    except Exception as error:
        print(type(error).__name__, str(error).split("\n\nThe error above")[0])
        return
    print({str(name): str(limits) for name, limits in program.range_constraints.items()})
    print([str(n.meta["val"].shape) for n in program.graph.nodes if n.op == "placeholder"])
    for shapes in calls:
        try:
            print(program.module()(*(torch.ones(shape) for shape in shapes)).shape)
        except Exception as error:
            print(type(error).__name__, error)


both = lambda x, y: x.sum() + y.sum()
n, m, t, k = Dim("n"), Dim("m", min=3, max=64), Dim("T", max=100), Dim("k", min=4, max=32)
attempt("one Dim twice", both, [(5,), (5,)], ({0: t}, {0: t}), [(3,), (3,)], [(3,), (4,)], [(101,), (101,)])
attempt("and not equal", both, [(6,), (5,)], ({0: n}, {0: n}))
attempt("three times", lambda x, y: x + y[0], [(5,), (5, 5)], ({0: n}, {0: n, 1: n}), [(3,), (3, 3)], [(3,), (4, 3)])
attempt("plus one", both, [(6,), (5,)], ({0: n + 1}, {0: n}), [(4,), (3,)], [(4,), (4,)])
attempt("twice as much", both, [(10,), (5,)], ({0: 2 * n}, {0: n}), [(8,), (4,)], [(4,), (4,)])
attempt("with bounds", both, [(10,), (5,)], ({0: 2 * k}, {0: k}), [(8,), (4,)], [(4,), (4,)])
attempt("not so", both, [(7,), (5,)], ({0: n + 1}, {0: n}))
attempt("of what is no size", both, [(6,), (10,)], ({0: n + 1}, {0: 2 * n}), [(4,), (6,)], [(4,), (8,)])
attempt("asked by the program", lambda x, y: x[1:] + y, [(6,), (5,)], ({0: n + 1}, {0: n}), [(4,), (3,)], [(4,), (4,)])
attempt("equal", lambda x, y: x + y, [(5,), (5,)], ({0: n}, {0: m}))
attempt("equal to what may be anything", lambda x, y: x + y, [(5,), (5,)], ({0: n}, {0: Dim.AUTO}), [(4,), (4,)])
attempt("equal to a number", lambda x, y: x + y, [(5,), (5,)], ({0: n}, None))
attempt("one more", lambda x, y: x[1:] + y, [(6,), (5,)], ({0: Dim("e")}, {0: Dim("d")}))
attempt("twice", lambda x, y: x + torch.cat([y, y]), [(10,), (5,)], ({0: Dim("e")}, {0: Dim("d")}))
attempt("even", lambda x: x.reshape(2, -1), [(8,)], ({0: n},))
attempt("even, said", lambda x: x.reshape(2, -1), [(8,)], ({0: 2 * n},), [(6,)], [(7,)])
attempt("even, with bounds", lambda x: x.reshape(2, -1), [(8,)], ({0: m},))
attempt("even, whatever it is", lambda x: x.reshape(2, -1), [(8,)], ({0: Dim.AUTO},), [(6,)], [(7,)])
attempt("by four", lambda x: x.reshape(4, -1), [(8,)], ({0: k},))
attempt("by two and three", lambda x: x.reshape(2, -1).sum() + x.reshape(3, -1).sum(), [(12,)], ({0: n},))
attempt("odd", lambda x: x[1:].reshape(2, -1), [(9,)], ({0: n},))
attempt("even branch", lambda x: x + 1 if x.shape[0] % 2 == 0 else x - 1, [(4,)], ({0: n},))
attempt("branch", lambda x: x + 1 if x.shape[0] > 4 else x - 1, [(5,)], ({0: n},))
attempt("branch with bounds", lambda x: x + 1 if x.shape[0] < 10 else x, [(5,)], ({0: k},))
attempt("number", lambda x: x + torch.ones(5), [(5,)], ({0: n},))
