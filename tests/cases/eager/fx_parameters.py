# Parameters of what fx traces: one proxy stands for all that a parameter collects, those by name come as they stand, defaults are kept.
import functools

import torch
from torch import fx


def collected(x, *rest, scale=2, **named):
    return (x + rest[0]) * scale + named["shift"]


def by_name(x, *, y, z=1.0):
    return x * y + z


class Layer(torch.nn.Module):
    def forward(self, x, *rest, bias=None, **named):
        return torch.relu(x) + rest[1]


def logged(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapped


@logged
def plain(x, y=3):
    return x - y


t = torch.ones(2)
for program in (collected, by_name, Layer(), plain):
    traced = fx.symbolic_trace(program)
    print(traced.code)
    print([(node.target, node.args) for node in traced.graph.nodes if node.op == "placeholder"])
for call in (lambda: fx.symbolic_trace(collected)(t, t * 2, scale=3, shift=t), lambda: fx.symbolic_trace(by_name)(t, y=t * 2)):
    try:
        print(call())
    except TypeError:
        print("TypeError")
try:
    fx.symbolic_trace(torch.compile(plain))
except RuntimeError as error:
    print(error)
try:
    fx.symbolic_trace(lambda x: torch.compile(by_name)(x, y=x))
except RuntimeError as error:
    print(error)
print(torch.compile(by_name, backend="eager")(t, y=t))
try:
    torch.compile(by_name, backend=lambda graph, inputs: 3)(t, y=t)
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[:2])
