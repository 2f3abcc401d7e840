import torch
from dataclasses import dataclass


class Box:
    pass


@dataclass
class Out:
    p: torch.Tensor
    q: torch.Tensor = None


box, cache, table, last = Box(), [], {}, None
box.total, box.scale, box.count = torch.ones(2), torch.ones(2), torch.ones(2)
state = {"buffer": torch.ones(2)}


def attributes(x):
    box.one = x.sin()
    box.two = x.cos()
    box.three = x.tan()
    return x.exp()


def containers(x):
    global last
    cache.append(x.sin())
    table["a"] = x.cos()
    table["b"] = x.tanh()
    last = x.tan()
    return x.exp()


def dataclass_by_position(x):
    return Out(x.sin(), x.cos())


def dataclass_by_name(x):
    return Out(q=x.sin(), p=x.cos()), x.exp()


def attributes_again(x):
    box.total = box.total + x
    box.scale = box.scale * 2
    cache.append(box.scale)
    return box.total + 1


def element_written(x):
    state["buffer"].mul_(2)
    state["new"] = x.sin()
    return x + 1


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.steps = 0

    def forward(self, x):
        self.total += x.sum()
        self.last = x.sin()
        self.steps += 1
        self.before = self.total.clone()
        return x * self.total * self.weight


def outer_variable(x):
    total = x * 0

    def add(v):
        nonlocal total
        total = total + v

    add(x)
    add(x.sin())
    return total


for f in (attributes, containers, dataclass_by_position, dataclass_by_name, attributes_again, element_written, Counts(), outer_variable):
    compiled = torch.compile(f)
    for _ in range(2):
        print(compiled(torch.ones(2)))
print(box.one, box.two, box.three, box.total, box.scale, cache, table, last, state)
