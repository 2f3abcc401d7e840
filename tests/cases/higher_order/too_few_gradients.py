"""Backwards of custom functions that return fewer or more gradients than there were arguments: what Dynamo traces pairs them as far as
there are any, what the engine calls refuses."""

import torch


def build(count):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, k=2.0):
            ctx.save_for_backward(x, y)
            return x * y * 2

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            grads = (g * y * 2, g * x * 2, None, None, g)
            return grads[0] if count == 1 else grads[:count]

    return Scale


def attempt(count, both, extra, compiled):
    cls = build(count)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=both)
    f = lambda x, y: (cls.apply(x, y, 2.0) if extra else cls.apply(x, y)) + 1
    if compiled:
        f = torch.compile(f)
    try:
        f(x, y).sum().backward()
        print(count, both, extra, compiled, x.grad, y.grad)
    except Exception as e:
        print(count, both, extra, compiled, type(e).__name__, str(e).split("\n")[0])


for count in (1, 2, 3, 5):
    for both in (False, True):
        for extra in (False, True):
            for compiled in (False, True):
                attempt(count, both, extra, compiled)


class Two(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x.sin(), y.cos()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gx, gy):
        x, y = ctx.saved_tensors
        return gx * x


# The second argument, too, is computed in the graph.
@torch.compile
def f(x, y):
    a, b = Two.apply(x * 2, y * 3)
    return (a + b).sum() + (x * y).sum()


x = torch.arange(3.0, requires_grad=True)
y = torch.arange(3.0, 6.0, requires_grad=True)
f(x, y).backward()
print(x.grad, y.grad)
