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
    y = x * 2
    with torch.no_grad():
        z = y + 1
        y.add_(z)
    with torch.enable_grad():
        w = z * 3
    with torch.set_grad_enabled(False):
        v = w.exp()
    return y, w, v


compiled(f)(torch.randn(4, requires_grad=True))


def update(p, g):
    with torch.no_grad():
        p.sub_(0.1 * g)
    return p.sum()


compiled(update)(torch.randn(3, requires_grad=True), torch.randn(3))
