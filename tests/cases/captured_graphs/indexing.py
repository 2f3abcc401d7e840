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


def f(x, i):
    a = x[0]
    b = x[0, 1:]
    c = x[..., None]
    d = x[:, ::2]
    e = x[i]
    g = x[x > 0].sum() if False else x[[0, 1]]
    h = x[:, i, None]
    k = x[-1][2]
    l = x[1:3, [0, 2]]
    return a, b, c, d, e, g, h, k, l, x[(0, 1)], x[slice(1, 2)]


compiled(f)(torch.randn(4, 4), torch.tensor([0, 2]))
