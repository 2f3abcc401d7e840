import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(x, k, sign=2):
        return x * k * sign

    @staticmethod
    def setup_context(ctx, inputs, output):
        print(len(inputs), inputs[1:])
        _, ctx.k, ctx.sign = inputs

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.k * ctx.sign, None, None


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(x, k=torch.tensor(2.0)):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.k = inputs

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.k, None


class Plain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k, sign=2):
        ctx.k, ctx.sign = k, sign
        return x * k * sign

    @staticmethod
    def backward(ctx, grad):
        print(ctx.needs_input_grad)
        return grad * ctx.k * ctx.sign, None


x = torch.ones(2, requires_grad=True)
for f in [
    lambda x: Scaled.apply(x, 3.0),
    lambda x: Scaled.apply(x, 3.0, sign=5),
    lambda x: Scaled.apply(x, k=3.0),
    lambda x: Doubled.apply(x),
    lambda x: Plain.apply(x, 3.0),
]:
    for call in [f, torch.compile(f, backend="aot_eager")]:
        x.grad = None
        call(x).sum().backward()
        print(x.grad)
print(torch.func.grad(lambda x: Scaled.apply(x, 3.0).sum())(torch.ones(2)))


# One tensor twice is no part of a graph.
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b

    @staticmethod
    def backward(ctx, grad):
        return grad, grad * 3


torch._dynamo.utils.counters.clear()
y = torch.compile(lambda x: Product.apply(x, x) + 1, backend="aot_eager")(x)
x.grad = None
y.sum().backward()
print(y, x.grad, torch._dynamo.utils.counters["stats"]["unique_graphs"])
print([text.split("\n")[0] for text in torch._dynamo.utils.counters["graph_break"]])
