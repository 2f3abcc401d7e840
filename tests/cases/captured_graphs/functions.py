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
    y = torch.sin(x)
    z = torch.cat([y, x * 2], dim=-1)
    z = torch.clamp(z, min=0.0, max=1.0)
    a, b = torch.split(z, 2, dim=1)[:2]
    m = torch.where(x > 0, x, 0.0)
    s = torch.stack((x, w), 0)
    e = torch.einsum("ij,jk->ik", x, w)
    return torch.matmul(a.t(), b), m, s, e, torch.sum(x, dim=(0, 1), keepdim=True), torch.softmax(x, -1), torch.add(x, w, alpha=2)


compiled(f)(torch.randn(4, 4), torch.randn(4, 4))
