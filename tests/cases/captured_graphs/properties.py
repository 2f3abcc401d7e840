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
    a = x.T @ w
    b = x.detach()
    n = x.shape[0] + x.dim() + x.size(1) + len(x)
    d = x.dtype, x.device
    c = torch.numel(x) * x.numel()
    e = x if x.requires_grad else w
    return a, b, x * n, x + c, e * 2, x.is_floating_point(), w.detach()


compiled(f)(torch.randn(4, 4), torch.randn(4, 4, requires_grad=True))
