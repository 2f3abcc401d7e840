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


def f(batch, pair):
    x, y = pair
    h = batch["x"] + batch["y"]["z"]
    out = {"h": h, "list": [h * 2, x], "tuple": (y.exp(),)}
    return out


compiled(f)({"x": torch.randn(3), "y": {"z": torch.randn(3)}}, (torch.randn(3), torch.randn(3)))
