# A backward may write to what the forward was given: history of gradients' sizes, counters, and a tangent itself.
import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, history):
        ctx.save_for_backward(x)
        ctx.history = history
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        ctx.history.copy_(torch.roll(ctx.history, -1))
        ctx.history[0] = grad.abs().max()
        return grad * 2 + x * 0, None


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.register_buffer("history", torch.zeros(3))

    def forward(self, x):
        return Scaled.apply(x * self.weight, self.history).sin()


model = torch.compile(Model())
for step in range(3):
    x = torch.full((2,), float(step))
    model(x).sum().backward()
    print(model.history, model.weight.grad)


class Counts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, count):
        count.add_(1)
        ctx.count = count
        return x.exp()

    @staticmethod
    def backward(ctx, grad):
        ctx.count.add_(10)
        return grad, None


@torch.compile
def counted(x, count):
    return Counts.apply(x, count) * count


count, x = torch.zeros(()), torch.ones(2, requires_grad=True)
out = counted(x, count)
print(out, count)
out.sum().backward()
print(count, x.grad)


class Swaps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone(), x * 3

    @staticmethod
    def backward(ctx, a, b):
        a.mul_(2)
        return a + b


@torch.compile
def swapped(x):
    return Swaps.apply(x)


x = torch.ones(2, requires_grad=True)
a, b = swapped(x)
(a + b * 5).sum().backward()
print(x.grad)

x = torch.ones(2, requires_grad=True)
history = torch.zeros(3)
out = torch.compile(lambda x: Scaled.apply(x, history).sin())(x)
try:
    torch.autograd.grad(out.sum(), x, create_graph=True)
except RuntimeError as error:
    print(error)


class Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, state):
        ctx.state = state
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        ctx.state.t_()
        return grad, None


try:
    torch.compile(lambda x, s: Turned.apply(x, s))(x, torch.ones(2, 3))
except Exception as error:
    print(type(error).__name__, [line for line in str(error).split("\n") if "metadata" in line])
