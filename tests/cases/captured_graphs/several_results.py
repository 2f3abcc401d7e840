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
    values, indices = torch.topk(x, 2)
    m = torch.max(x, dim=1)
    v, i = x.sort(dim=-1, descending=True)
    q, r = torch.linalg.qr(x)
    a, b, c, d = x.unbind(0)
    parts = torch.chunk(x, 2)
    mean, = torch.split(x, 4)
    s = torch.aminmax(x)
    return values, m.values + m.indices, v, r, a + d, parts[0] * parts[1], mean, s.min, torch.var_mean(x, dim=0)[1]


compiled(f)(torch.randn(4, 4))
