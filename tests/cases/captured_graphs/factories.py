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


def g(x):
    return torch.zeros(2, 3), torch.ones_like(x), torch.arange(4, dtype=torch.float32), torch.full((2,), 1.5), torch.eye(2, device=x.device), torch.linspace(0, 1, steps=5), torch.zeros(x.shape), torch.arange(0, 10, 2), torch.randn(2, 2) + torch.rand_like(x), torch.empty(3).fill_(0), torch.tensor([1.0, 2.0]), torch.tensor(3)


compiled(g)(torch.randn(2, 2))
