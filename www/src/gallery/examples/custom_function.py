import torch


class Clip(torch.autograd.Function):
    """Clips going forward; lets gradients through unchanged."""

    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.limit, None


@torch.compile
def f(x):
    return (Clip.apply(x, 0.5) * torch.cos(x)).sum()


x = torch.linspace(-2, 2, 5, requires_grad=True)
f(x).backward()
print([round(g, 4) for g in x.grad.tolist()])
