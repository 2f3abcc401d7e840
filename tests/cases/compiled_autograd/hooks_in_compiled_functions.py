"""Hooks that a compiled function registers on values of its graph: calls of them stay in the backward, and are traced when that is compiled."""
import torch
import torch._dynamo.compiled_autograd as ca
from torch._dynamo.utils import counters

scale = {"k": 2.0}

def scaled(g):
    return g * scale["k"]

@torch.compile(backend="aot_eager")
def f(x, w):
    h = (x * w).sin()
    h.register_hook(scaled)
    y = h.exp()
    y.register_hook(lambda g: g + 1)
    return y.sum()

x = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for k in (2.0, 3.0, 3.0):
    scale["k"] = k
    x.grad = w.grad = None
    with ca._enable(torch.compile(backend="aot_eager")):
        f(x, w).backward()
    print(k, x.grad, w.grad)

lin = torch.nn.Linear(3, 3)
with torch.no_grad():
    lin.weight.fill_(0.5)
    lin.bias.fill_(0.1)


@torch.compile(backend="aot_eager")
def with_parameters(x):
    h = x.tanh()
    h.register_hook(scaled)
    return lin(h).square().sum()
lin.zero_grad(); x.grad = None
with ca._enable(torch.compile(backend="aot_eager")):
    with_parameters(x).backward()
print(lin.weight.grad.sum(), x.grad)
x.grad = None
with ca._enable(torch.compile(backend="aot_eager")):
    out = with_parameters(x)
try:
    out.backward()
    print(x.grad)
except Exception as e:
    print(type(e).__name__, str(e)[:80])
@torch.compile(backend="eager")
def eager(x):
    h = x.tanh()
    h.register_hook(scaled)
    return h.square().sum()
x.grad = None
with ca._enable(torch.compile(backend="eager")):
    eager(x).backward()
print(x.grad)
@torch.compile(backend="aot_eager")
def closes_over(x, mul):
    h = x.tanh()
    h.register_hook(lambda g: g * mul)
    return h.square().sum()
for mul in (2, 2, 5):
    x.grad = None
    with ca._enable(torch.compile(backend="aot_eager")):
        closes_over(x, mul).backward()
    print(mul, x.grad)
print(counters["compiled_autograd"])
