import torch

class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y
    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 3
for be in ("aot_eager", "eager"):
    @torch.compile(backend=be)
    def f(a, b):
        p, q = Sq.apply(a, a)
        r, _ = Sq.apply(a * 2, b)
        return (p + q + r + Twice.apply(b)).sum()
    a = torch.tensor([1., 2., 3.], requires_grad=True); b = torch.tensor([4., 5., 6.], requires_grad=True)
    o = f(a, b); o.backward(); print(o.item(), a.grad, b.grad)
    with torch.no_grad():
        print(f(a, b))

class KeptOnContext(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.root = x.exp()
        ctx.scale = scale
        return ctx.root * scale, x.view(-1)

    @staticmethod
    def backward(ctx, g, h):
        return g * ctx.root * ctx.scale + h.view(2, 2), None

@torch.compile(backend="aot_eager")
def k(x):
    a, b = KeptOnContext.apply(x * 1, 2.0)
    return a.sum() + (b * b).sum()

x = torch.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True)
k(x).backward()
print(x.grad)

@torch.compile(backend="aot_eager")
def broken(a):
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.s = x.sum().item()
            return x * ctx.s

        @staticmethod
        def backward(ctx, g):
            return g * ctx.s * 10

    return Bad.apply(a * 1).sum()

a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
broken(a).backward()
print(a.grad)
