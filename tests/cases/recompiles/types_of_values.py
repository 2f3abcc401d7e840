import torch
from dataclasses import dataclass
from collections import namedtuple
from enum import Enum

class Kind(Enum):
    A = 1
    B = 2

@dataclass
class Config:
    hidden: int
    drop: float
    name: str = "base"

Point = namedtuple("Point", ["x", "y"])

@torch.compile
def f(x, kind):
    if kind == Kind.A:
        return x.sin()
    return x.cos()

@torch.compile
def g(x, cfg):
    y = x * cfg.hidden
    if cfg.name == "base":
        y = y + 1
    return y - cfg.drop

@torch.compile
def h(p, scale):
    return p.x * scale + p.y

x = torch.ones(3)
print(f(x, Kind.A), f(x, Kind.B))
print(g(x, Config(4, 0.5)))
print(g(x, Config(4, 0.25)))
print(g(x, Config(8, 0.25)))
print(g(x, Config(8, 0.25, "large")))
print(h(Point(x, x), 2))
print(h(Point(x, 1.0), 2))
print(h(Point(x, x), 2.5))
