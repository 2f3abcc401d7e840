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
    y = x.clone()
    y += 1
    y *= w
    y -= w
    y /= 2
    y.mul_(2).add_(1)
    y.add_(w, alpha=2)
    z = y.relu_()
    z.clamp_(min=0, max=1)
    F.relu(y, inplace=True)
    torch.add(x, w, out=y)
    y.copy_(w)
    y.fill_(1).zero_()
    return y * 2, z


compiled(f)(torch.randn(4, 4), torch.randn(4, 4))
