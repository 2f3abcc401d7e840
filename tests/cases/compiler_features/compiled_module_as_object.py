"""What a compiled module is as an object: its length and attributes are the module's, it is no container; and what it gives back in a
data class is an output where that is made."""
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn as nn


def tried(f):
    try:
        return f()
    except Exception as e:
        return f"{type(e).__name__}: {e}"


m = torch.compile(nn.Sequential(nn.Linear(1, 1), nn.ReLU()), backend="aot_eager")
print(tried(lambda: len(m)), tried(lambda: m[0]), tried(lambda: list(m)))
print(tried(lambda: bool(m)), tried(lambda: m.nothing))
d = torch.compile(nn.ModuleDict({"a": nn.ReLU()}), backend="aot_eager")
print(tried(lambda: len(d)), tried(lambda: d["a"]), list(d.keys()))
m.eval()
print(m.training, m._orig_mod.training, m._orig_mod[1].training)
m.train()
m.training = False
print(m.training, m._orig_mod.training)
m.extra = 3
print(m._orig_mod.extra, tried(lambda: delattr(m, "extra")), hasattr(m._orig_mod, "extra"))
print("weight" in dir(torch.compile(nn.Linear(1, 1))), type(m).__name__, isinstance(m, nn.Sequential))


@dataclass(frozen=True)
class Pair:
    y: torch.Tensor
    n: int


class Named(NamedTuple):
    a: torch.Tensor
    b: int = 3


@torch.compile(backend="aot_eager")
def pairs(x, k):
    y = x * k
    return Pair(y, k), Named(y * 2.0)


print(pairs(torch.ones(2), 2))


@torch.compile(backend="aot_eager")
def stepped(x):
    y = x + 1
    torch.compiler.cudagraph_mark_step_begin()
    return y * 2


print(stepped(torch.ones(1)))
