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


def scale(v, by):
    result = v * by
    return result


def pair(v):
    return v.sin(), v.cos()


def f(x, w):
    x = x * 2
    x = x + 1
    a = b = x.sin()
    y = scale(x, w)
    p, q = pair(y)
    first, (second, third) = x.sum(), pair(w)
    outs = []
    for i in range(3):
        t = x * i
        outs.append(t.exp())
    for o in outs:
        x = x + o
    sum = x.sum()
    max = x.max()
    input = torch.tanh(x)
    z = input if True else x
    n = (m := x.relu()) + 1
    lst = [p * 2, q * 2]
    r, s = lst
    y_1 = r + s
    y_1 = y_1 * 2
    x_10 = y_1 - 1
    x_10 = x_10 - 1
    d = {"k": x.abs()}
    e = d["k"] + 1
    return a, b, first, second, third, sum, max, z, n, m, y_1, x_10, e


compiled(f)(torch.randn(4), torch.randn(4))
