import torch


@torch.compile(backend="aot_eager")
def mutates(x, b):
    b.add_(1)
    y = x.sin()
    return y * b, None, 3


@torch.compile(backend="aot_eager")
def mutates_grad(x, w):
    x.mul_(2)
    return x @ w


@torch.compile(backend="aot_eager")
def bases(x):
    y = x.cos()
    return y.view(-1), y[0], x.t(), y


@torch.compile(backend="aot_eager")
def drops(x):
    return torch.nn.functional.dropout(x.sin(), 0.5)


@torch.compile(backend="aot_eager", dynamic=True)
def sizes(x, w):
    return (x @ w).softmax(-1).sum() * x.shape[0]


@torch.compile(backend="aot_eager")
def infer(x, y):
    y.add_(x)
    return x + 1, x


x = torch.randn(4, 4, requires_grad=True)
mutates(x, torch.ones(4))[0].sum().backward()
z = torch.randn(4, 4, requires_grad=True) * 1
mutates_grad(z, torch.randn(4, 3, requires_grad=True)).sum().backward()
sum(o.sum() for o in bases(x)).backward()
drops(x).sum().backward()
sizes(torch.randn(5, 4, requires_grad=True), torch.randn(4, 6, requires_grad=True)).backward()
infer(torch.ones(3), torch.ones(3))
infer(torch.ones(5), torch.ones(5))
print("done")
