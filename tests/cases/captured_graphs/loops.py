import torch
import torch.nn as nn
import torch.nn.functional as F


def show(gm, example_inputs):
    print(gm.graph)
    print(gm.code)
    print(gm.print_readable(print_output=False))
    for n in gm.graph.nodes:
        value = n.meta.get("example_value")
        told = (tuple(value.shape), value.dtype, value.requires_grad, value.is_leaf) if isinstance(value, torch.Tensor) else value is not None
        print(n.op, n.name, getattr(n.target, "__name__", n.target), n.args, n.kwargs, told, sorted(n.users, key=str))
    return gm


def compiled(f, **options):
    return torch.compile(f, backend=show, **options)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.wx = nn.Linear(3, 5)
        self.wh = nn.Linear(5, 5, bias=False)

    def forward(self, x, h):
        return torch.tanh(self.wx(x) + self.wh(h))


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()

    def forward(self, xs):
        h = xs.new_zeros(xs.shape[1], 5)
        states = []
        for t in range(xs.shape[0]):
            h = self.cell(xs[t], h)
            states.append(h)
        return torch.stack(states), h


compiled(RNN())(torch.randn(3, 2, 3))
