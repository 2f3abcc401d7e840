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


def f(x):
    y = x.sin()
    n = y.sum().item()
    z = y * n
    if z.mean() > 0:
        z = z + 1
    else:
        z = z - 1
    w = z.cos()
    torch._dynamo.graph_break()
    return w + y


torch.manual_seed(0)
compiled(f)(torch.randn(4))


def inner(v):
    u = v * 2
    print("inner")
    t = u + 1
    return t


def g(x):
    y = x.sin()
    z = inner(y)
    return z.cos() + y


compiled(g)(torch.randn(4))
