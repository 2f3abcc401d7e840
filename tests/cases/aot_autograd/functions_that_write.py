import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.mark_dirty(x)
        ctx.save_for_backward(w)
        x.mul_(w)
        return x

    @staticmethod
    def backward(ctx, g):
        w, = ctx.saved_tensors
        return g * w, None

class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 3
        x.add_(1)
        ctx.mark_dirty(x)
        return x, y

    @staticmethod
    def backward(ctx, a, b):
        return a + b * 3

@torch.compile
def f(x, w):
    y = x * 1
    Scale.apply(y, w)
    z, u = Both.apply(y.sin())
    return z + u, y

x, w = torch.arange(3.).requires_grad_(), torch.ones(3) * 2
a, b = f(x, w)
print(a, b)
(a.sum() + b.sum()).backward()
print(x.grad)

@torch.compile
def g(x):
    y = x.clone()
    v = y[1:]
    z = Both.apply(y)[0]
    return z.sum() + v.sum()

x = torch.arange(3.).requires_grad_()
y = g(x)
y.backward()
print(y, x.grad)
