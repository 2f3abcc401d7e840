# torch.utils.swap_tensors: objects stay, what they are is swapped; what is used elsewhere cannot be.
import weakref

import torch
from torch.utils import swap_tensors


def show(f):
    try:
        print(f())
    except Exception as error:
        print(type(error).__name__, str(error)[:60])


a, b = torch.ones(2), torch.zeros(3)
print(swap_tensors(a, b), a, b)
p, q = torch.nn.Parameter(torch.ones(2)), torch.zeros(3)
q.tag = "held"
swap_tensors(p, q)
print(type(p).__name__, type(q).__name__, p, q, getattr(p, "tag", None), getattr(q, "tag", None))
x = torch.ones(2, requires_grad=True)
y, z = x * 2, torch.zeros(2)
swap_tensors(y, z)
print(y, z)
w = torch.ones(2, requires_grad=True)
v = w * w
show(lambda: swap_tensors(w, torch.zeros(2, requires_grad=True)))
v.sum().backward()
w, u = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
v = w * 3
swap_tensors(w, u)
show(lambda: v.sum().backward())
print(w, u)
(w * 3).sum().backward()
print(w.grad)
held = torch.ones(3)
reference = weakref.ref(held)
show(lambda: swap_tensors(held, torch.zeros(3)))


class Slotted(torch.Tensor):
    __slots__ = ("k",)


show(lambda: swap_tensors(torch.ones(2), torch.ones(2).as_subclass(Slotted)))
model = torch.nn.Linear(2, 2)
weight = model.weight
swap_tensors(model.weight, torch.nn.Parameter(torch.zeros(2, 2)))
print(model.weight is weight, model.weight, model(torch.ones(2)) - model.bias)
