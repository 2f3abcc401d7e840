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


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        y = x * x
        return y * k

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad * ctx.k, None


def f(x):
    y = Square.apply(x, 3)
    return y.sum()


compiled(f)(torch.randn(4, requires_grad=True))
