# What the backward of a custom function changes outside of itself, it changes when the backward runs: once, and not while it is traced.
import torch

log = []


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, seen):
        seen.append("forward")
        ctx.seen = seen
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        ctx.seen.append("backward")
        return grad * 2, None


class Logged(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        log.append("backward")
        print("in the backward")
        return grad * 3


class OfClass(Logged):
    @staticmethod
    def backward(ctx, grad):
        OfClass.calls += 1
        return grad * 3


class Nonlocal:
    def make(self):
        count = 0

        class Counting(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sin()

            @staticmethod
            def backward(ctx, grad):
                nonlocal count
                count += 1
                return grad * count

        return Counting, lambda: count


class Pure(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.parts = [x]
        return x.exp()

    @staticmethod
    def backward(ctx, grad):
        own = []
        own.append(grad)
        return own[0] * 2


counting, count = Nonlocal().make()
for backend in ("aot_eager", "eager"):
    for function in (lambda x: Counted.apply(x, log), Logged.apply, lambda x: Logged.apply(x + 1).sum(), OfClass.apply, counting.apply, Pure.apply):
        torch._dynamo.reset()
        log.clear()
        x = torch.ones(2, requires_grad=True)
        compiled = torch.compile(function, backend=backend)
        for _ in range(2):
            y = compiled(x)
            print("forward", log, OfClass.calls, count())
            y.sum().backward()
            print("backward", log, OfClass.calls, count(), x.grad)
for function in (Logged, counting):
    torch._dynamo.reset()
    try:
        torch.compile(function.apply, backend="aot_eager", fullgraph=True)(x)
    except Exception as error:
        print(type(error).__name__, *str(error).splitlines()[:3], sep="\n")
