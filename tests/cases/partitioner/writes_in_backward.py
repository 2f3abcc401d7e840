# A custom function's backward writes to an input of the forward: the write belongs to the backward graph, and what is saved of the input
# is saved without a check of its version.
import torch


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, calls):
        ctx.save_for_backward(x)
        ctx.calls = calls
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        ctx.calls.add_(1)
        return gradient * x.cos(), None


def f(x, calls):
    return Counted.apply(x * 2, calls).cos().sum()


x = torch.arange(4.0, requires_grad=True)
calls = torch.zeros(1)
torch.compile(f, backend="aot_eager")(x, calls).backward()
print(x.grad, calls)
