"""What is kept out of capture: functions, modules and classes that are disabled, whether they see that something compiles, and
functions whose results are constants of a graph."""

import torch


def compiling():
    return torch.compiler.is_compiling(), torch._dynamo.is_compiling(), torch.compiler.is_dynamo_compiling()


@torch.compiler.disable
def apart(x):
    print("apart", compiling())
    return x * 2


@torch.compiler.disable(recursive=False)
def skipped(x):
    print("skipped", compiling())
    return inner(x)


def inner(x):
    return x + 1 if torch.compiler.is_compiling() else x - 1


@torch.compile(backend="aot_eager")
def f(x):
    y = x + 1 if torch.compiler.is_compiling() else x - 1
    y = apart(y)
    return skipped(y) + 1


print(compiling())
print(f(torch.ones(2)))
print(compiling())

linear = torch.nn.Linear(2, 2)
torch.nn.init.ones_(linear.weight)
torch.nn.init.zeros_(linear.bias)
kept_out = torch.compiler.disable(linear)
print(type(kept_out).__name__, isinstance(kept_out, torch.nn.Module), kept_out._orig_mod is linear, kept_out.weight is linear.weight)
print(sorted(kept_out.state_dict()))
print(kept_out(torch.ones(2)))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept_out = kept_out

    def forward(self, x):
        return self.kept_out(x * 3) * 2


print(torch.compile(Model(), backend="aot_eager")(torch.ones(2)))


@torch.compiler.disable
class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        print("Scale", torch.compiler.is_compiling())
        return x * self.by


print(type(Scale), isinstance(Scale(2), Scale))
scale = Scale(4)
print(torch.compile(lambda x: scale(x + 1) - 1, backend="aot_eager")(torch.ones(2)))

# Copies of either kind of module do as what they are copies of.
import copy

copied = copy.deepcopy(kept_out)
print(type(copied).__name__, copied._orig_mod is linear, copied(torch.ones(2)))
compiled = copy.deepcopy(torch.compile(linear, mode="reduce-overhead"))
print(type(compiled).__name__, compiled._orig_mod is linear, compiled(torch.ones(2)).tolist())
