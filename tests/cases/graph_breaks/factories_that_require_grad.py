# A tensor that is made to require grad inside a compiled function is a leaf: Dynamo leaves making it to Python.
import torch
from torch._dynamo.utils import counters


def full(k):
    a = torch.full((2,), 2.0, requires_grad=True)
    return a, (a * k).sum()


def drawn(k):
    torch.manual_seed(0)
    a = torch.randn(2, requires_grad=True)
    return torch.autograd.grad((a * k).sum(), a)[0], a > -9


def written_out(k):
    return torch.tensor([1.0, 2.0], requires_grad=True) * k


def points(k):
    a = torch.linspace(0, 1, 2, requires_grad=True)
    b = a.detach() * k
    return b, (a**2 * k).sum()


def like(k):
    y = k * 2
    a = torch.zeros_like(y, requires_grad=True)
    return a + y


def twice(k):
    a = torch.eye(2, requires_grad=True)
    b = torch.ones(2, requires_grad=False)
    return a @ k + b


class Points(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(2))

    def forward(self, k):
        t = torch.arange(2.0, requires_grad=True)
        u = (t * self.scale).sin()
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        return du + k


k = torch.ones(2)
for f in (full, drawn, written_out, points, like, twice, Points()):
    torch._dynamo.reset()
    counters.clear()
    out = torch.compile(f)(k)
    out = out if isinstance(out, tuple) else (out,)
    print(getattr(f, "__name__", "Points"), [(t.requires_grad, t.is_leaf, t.tolist()) for t in out])
    print(sorted((reason.split("\n")[0], n) for reason, n in counters["graph_break"].items()))
    for t in out:
        if t.requires_grad and not t.is_leaf:
            t.sum().backward()
try:
    torch.compile(full, fullgraph=True)(k)
except Exception as error:
    print(type(error).__name__, str(error).split("\n")[0])
