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


weight = torch.randn(4, 4)
bias = nn.Parameter(torch.randn(4))
tables = {"a": torch.ones(4), "b": [torch.zeros(4)]}


def make(k):
    offset = torch.full((4,), 3.0)

    def g(x):
        h = lambda v: v * k + offset
        return h(x @ weight + bias) + tables["a"] - tables["b"][0]

    return g


compiled(make(2))(torch.randn(4, 4))
compiled(lambda x, *rest, **named: x + rest[0] * named["z"])(torch.randn(2), torch.randn(2), z=torch.randn(2))
