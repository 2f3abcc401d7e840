"""Settings of compiled autograd, and options for the functions that it compiles."""

import torch
import torch._dynamo.config as config
from torch._dynamo.utils import counters


def step(x, w):
    (x @ w).sin().sum().backward()
    return w.grad.sum()


def ran(**settings):
    torch._dynamo.reset()
    counters.clear()
    w = torch.ones(3, 2, requires_grad=True)
    try:
        with config.patch(settings):
            value = torch.compile(step, backend="aot_eager")(torch.ones(2, 3), w).item()
    except Exception as e:
        print(type(e).__name__, str(e)[:80])
        return
    print(round(value, 4), dict(counters["compiled_autograd"]))


ran()
ran(compiled_autograd=True)
ran(compiled_autograd=True, compiled_autograd_kwargs_override={"fullgraph": True})
ran(compiled_autograd=True, compiled_autograd_kwargs_override={"dynamic": True})
