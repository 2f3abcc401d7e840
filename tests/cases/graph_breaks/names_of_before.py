"""`ctx.saved_variables`, which Dynamo does not know: frames around it run as they are. Generators' states of devices."""
import warnings

import torch
from torch.utils.checkpoint import get_device_states, set_device_states


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        ctx.save_for_backward(i)
        return i * torch.sigmoid(i)

    @staticmethod
    def backward(ctx, g):
        i = ctx.saved_variables[0]
        s = torch.sigmoid(i)
        return g * (s * (1 + i * (1 - s)))


def inner(y):
    return Swish.apply(y)


def f(x):
    y = x * 2
    y = inner(y)
    return y + 1


x = torch.linspace(-1, 1, 3).requires_grad_()
compiled = torch.compile(f)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        out = compiled(x)
        out.sum().backward()
        print(f"{out.sum().item():.4f}", x.grad)
print({str(w.message) for w in caught if w.category is DeprecationWarning and "saved" in str(w.message)})
print(torch._dynamo.utils.counters["stats"]["unique_graphs"])
devices, states = get_device_states(x, [1, x])
set_device_states(devices, states)
print(devices, states)
