import torch
from torch.autograd.graph import saved_tensors_hooks

w = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()
x = torch.ones(2, 3, requires_grad=True)


@torch._dynamo.disable
def pack(t):
    print("pack", tuple(t.shape))
    return t


@torch._dynamo.disable
def unpack(t):
    print("unpack", tuple(t.shape))
    return t


def part(x):
    return torch.tanh(x @ w).exp()


class C:
    def __init__(self, f):
        self.f = f

    def __call__(self, *a):
        torch._dynamo.graph_break()
        with saved_tensors_hooks(pack, unpack):
            y = self.f(*a)
        return y.sin()


def direct(x):
    x = x * 2
    with saved_tensors_hooks(pack, unpack):
        y = part(x)
    return y.sin()


def ops(x):
    x = x * 2
    with saved_tensors_hooks(pack, unpack):
        y = torch.tanh(x @ w).exp()
    return y.sin()


def after(x):
    with saved_tensors_hooks(pack, unpack):
        y = torch.tanh(x @ w).exp()
        torch._dynamo.graph_break()
        y = y.exp()
    return part(y)


c = C(part)
for name, fn in [("callable", lambda x: c(x)), ("direct", direct), ("ops", ops), ("after", after)]:
    torch._dynamo.reset()
    print("--", name)
    y = torch.compile(fn, backend="aot_eager")(x)
    print("forward done")
    y.sum().backward()
    print(x.grad.sum().item())
