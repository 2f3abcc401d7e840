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


def f(x, w):
    a = x + w - 1
    b = 2 - x
    c = 2 * x / 3
    d = 1 / x
    e = x // 2 % 3
    g = x**2 + 2**x
    h = -x @ w
    i = (x > 0) & (w < 0) | ~(x == w)
    j = abs(x)
    k = x != 1
    l = 1 + x
    m = (x >= 1) ^ (w <= 2)
    return a, b, c, d, e, g, h, i, j, k, l, m


compiled(f)(torch.randn(4, 4), torch.randn(4, 4))
