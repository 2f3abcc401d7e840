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
    z = torch.zeros(4, 4)
    z[0] = 1
    z[1:3, 0] = x[1:3, 0]
    z[i] = 2.0
    z[z > 0] = -1
    z[0] += 2
    z[:, 1] *= x[:, 1]
    z[..., -1].add_(3)
    z[0, 0] = x.sum()
    return z


compiled(f)(torch.randn(4, 4), torch.tensor([0, 2]))
