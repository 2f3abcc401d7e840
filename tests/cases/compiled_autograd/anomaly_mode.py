# A graph that is captured in anomaly mode is checked after each call: no gradient that it gives holds a NaN.
import torch
from torch._dynamo import compiled_autograd

x = torch.ones(3, requires_grad=True)
w = torch.full((3,), 2.0, requires_grad=True)


def attempt(name, call):
    try:
        print(name, call())
    except (RuntimeError, AssertionError) as error:
        print(name, type(error).__name__, str(error).split("\n")[0])


def backward(values):
    x.grad = w.grad = None
    ((x * values).sqrt() * w.sin()).sum().backward()
    return x.grad, w.grad


def again():
    (x * w).sum().backward()


def grad(values):
    return torch.autograd.grad(((x * values).sqrt() * w).sum(), (x, w))


good, bad = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -2.0, 3.0])
with compiled_autograd._enable(torch.compile(backend="eager")):
    attempt("not checked", lambda: backward(bad))
    with torch.autograd.set_detect_anomaly(True):
        attempt("kept graph", lambda: backward(bad))
        attempt("first call", lambda: grad(good))
        attempt("second call", lambda: grad(bad))
        attempt("already there", again)
    attempt("afterwards", lambda: grad(bad))
