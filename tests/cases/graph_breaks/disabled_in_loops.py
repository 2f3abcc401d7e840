"""Functions that are disabled, called where a frame was skipped: they are captured nowhere, what they compile is."""
import functools

import torch


@torch._dynamo.disable
def log(t, *, tag="t"):
    print(tag, (t * 2).sum().item())


class Steps:
    @torch._dynamo.disable
    def step(self, x):
        return x + 1

    @torch._dynamo.disable(recursive=False)
    def shallow(self, x):
        return inner(x) + 1


def inner(x):
    return x.sin()


steps = Steps()
tagged = functools.partial(log, tag="p")


@torch.compile(backend="aot_eager")
def f(x):
    y = x.cos()
    tagged(y)
    for _ in range(2):
        y = steps.step(y) * 2
        tagged(y)
        log(y)
    return steps.shallow(y)


print(f(torch.ones(2)))


@torch.compile(backend="aot_eager")
def compiled(x):
    return x.sin() + 1


@torch._dynamo.disable
def calls(x):
    return compiled(x * 2)


@torch.compile(backend="aot_eager")
def g(x):
    for _ in range(2):
        x = calls(x)
    return x * 2


print(calls(torch.ones(2)), g(torch.ones(2)))


# A number that is repeated is written through: what was added to its copies is summed.
@torch.compile(backend="aot_eager")
def repeated(x, n):
    a = x.expand((n,))
    a[-1] = 3
    return a


print(repeated(torch.tensor(1), 2))
