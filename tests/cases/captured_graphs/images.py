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


def f(x, w, b):
    y = F.conv2d(x, w, b, stride=1, padding=1)
    y = F.batch_norm(y, torch.zeros(4), torch.ones(4), training=True)
    p = F.max_pool2d(y, 2)
    q = F.avg_pool2d(y, kernel_size=2, stride=2)
    r = F.adaptive_avg_pool2d(y, (1, 1)).flatten(1)
    s = F.interpolate(y, scale_factor=2, mode="nearest")
    u, i = F.max_pool2d(y, 2, return_indices=True)
    v = F.unfold(x, 2)
    g = F.group_norm(y, 2)
    return p, q, r, s, u, i, v, g, F.conv1d(x[:, :, 0], w[:, :, 0])


compiled(f)(torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(4))
