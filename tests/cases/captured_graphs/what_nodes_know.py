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


def tell(gm, example_inputs):
    for n in gm.graph.nodes:
        value = n.meta.get("example_value")
        if isinstance(value, torch.Tensor):
            kind = "Parameter" if isinstance(value, nn.Parameter) else "tensor"
            print(n.name, kind, type(value.grad_fn).__name__, value.requires_grad, tuple(value.shape))
        for name, target in n.meta.get("source_fn_stack", []):
            print("  ", name, getattr(target, "__name__", target))
    return gm


def f(x, w, p):
    y = torch.sin(x @ w) + p
    values, indices = y.max(dim=1)
    return values.exp(), F.relu(y)


w = torch.randn(4, 4, requires_grad=True)
torch.compile(f, backend=tell)(torch.randn(4, 4), w, nn.Parameter(torch.randn(4)))
