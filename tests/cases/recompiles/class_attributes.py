"""Attributes that objects have from their classes: read there, guarded there, shadowed and changed between calls; and hooks of a module
before which a graph ended."""
import torch
import torch.nn as nn


class Base:
    scale = 2.0
    steps = [1.0, 2.0]


class Scaled(Base):
    power = 1

    def __init__(self):
        self.shift = 1

    def gain(self):
        return self.scale * self.steps[1]


scaled = Scaled()
x = torch.arange(4.0)


@torch.compile(backend="aot_eager")
def scale(x):
    return x * scaled.scale + scaled.shift


print(scale(x))
Base.scale = 3.0
print(scale(x))
scaled.scale = 4.0
print(scale(x))
del scaled.scale
print(scale(x))
Scaled.scale = 5.0
print(scale(x))
scaled.shift = 2.5
print(scale(x))


@torch.compile(backend="aot_eager")
def gain(x):
    return x * scaled.gain() + scaled.power


print(gain(x))
Base.steps[1] = 7.0
print(gain(x))
Base.steps.append(1.0)
print(gain(x))
scaled.gain = lambda: 1.5
print(gain(x))


class Shifted(nn.Module):
    eps = 0.5
    count = 1

    def forward(self, x):
        return x * self.count + self.eps


shifted = torch.compile(Shifted(), backend="aot_eager")
print(shifted(x))
Shifted.eps = 0.25
print(shifted(x))
Shifted.count = 3
print(shifted(x))


def double(module, grad_output):
    return tuple(g * 2 for g in grad_output)


layer = nn.Linear(3, 3, bias=False)
layer.weight = nn.Parameter(torch.eye(3))


@torch.compile(backend="aot_eager")
def call(x):
    return layer(x + 1)


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def gradient():
    x.grad = None
    call(x).sum().backward()
    return x.grad


handle = layer.register_full_backward_pre_hook(double)
print(gradient())
handle.remove()
print(gradient())
seen = []
layer.register_full_backward_hook(lambda module, given, out: seen.append(given[0].sum().item()))
print(gradient(), seen)
layer.register_forward_hook(lambda module, args, out: out * 10)
print(call(x))
