import torch
import torch._dynamo.compiled_autograd as ca


def show(gm):
    text = gm.print_readable(print_output=False)
    print("\n".join(line for line in text.split("\n") if line.strip() and not line.strip().startswith("#")))
    return gm


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, k, b):
        ctx.save_for_backward(a, b)
        ctx.k = k
        return a * k + b, a.sum()

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g * ctx.k + h, None, g * a


class Unmaterialized(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a.clone(), a.exp()

    @staticmethod
    def backward(ctx, g, h):
        return g if h is None else h


x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = torch.ones(2, requires_grad=True)
for compiler in (show, torch.compile(backend="aot_eager")):
    with ca._enable(compiler):
        a, s = Scale.apply(x, 2, y.expand(2, 2))
        a.sum().backward()
        a, s = Scale.apply(x, 3, y.expand(2, 2))
        (a.sum() * s).backward()
        u, _ = Unmaterialized.apply(x)
        u.mean().backward()
    print(x.grad, y.grad)
    x.grad = y.grad = None
