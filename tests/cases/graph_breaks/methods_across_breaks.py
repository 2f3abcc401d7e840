"""A method that an expression has already looked up when its argument breaks the graph: of a list, of a tensor, of an object."""
import collections
import math
import random

import torch
from torch._dynamo.utils import counters

log, table, seen, queue = [], {}, set(), collections.deque()
lists = collections.defaultdict(list)
numbers = random.Random(0)


class Log:
    def __init__(self):
        self.items = []

    def add(self, value):
        self.items.append(value)


kept = Log()
layer = torch.nn.Linear(3, 3)


def of_list(x): log.append(x.sum().item()); return x * 2
def of_made_list(x): v = [1, 2]; v.append(x.sum().item()); return x * 2
def of_held_list(x): kept.items.append(x.sum().item()); return x * 2
def of_listed(x): lists["k"].append(x.sum().item()); return x * 2
def of_pair(x): log.append((x.sum().item(), 1)); return x * 2
def by_float(x): log.append(float(x.sum())); return x * 2
def of_dictionary(x): table.update(k=x.sum().item()); return x * 2
def looked_up(x): return table.get(x.sum().item(), x) * 2
def of_set(x): seen.add(x.sum().item()); return x * 2
def of_deque(x): queue.append(x.sum().item()); return x * 2
def of_string(x): t = "{}".format(x.sum().item()); return x * 2
def joined(x): s = "a".join(["b", str(x.sum().item())]); return x * 2
def of_object(x): kept.add(x.sum().item()); return x * 2
def of_module(x): m = math.sqrt(x.sum().item()); return x * 2
def of_generator(x): numbers.uniform(0, x.sum().item()); return x * 2
def of_argument(x): return x.mul(x.sum().item())
def of_result(x): y = x + 1; return y.mul(x.sum().item())
def of_expression(x): return torch.relu(x).sin().mul(x.sum().item())
def goes_on(x): z = x.mul(x.sum().item()); return z + 1
def names_torch(x): z = x.mul(x.sum().item()); return torch.sin(z)
def has_tensor(x): z = x.mul(x.sum().item()); return z + x
def of_shape(x): y = x.view(int(x.sum()), -1); return y + x.sum()
def twice(x): y = x.clamp(min=x.sum().item(), max=x.max().item()); return y * 2 + x


functions = [f for f in list(globals().values()) if callable(f) and getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("x",)]
for function in functions:
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(function)
    counts = []
    for n in (1.0, 1.0, 1.0, 1.0):
        result = compiled(torch.ones(3) * n)
        counts.append(counters["stats"]["unique_graphs"])
    print(function.__name__, counts, result.flatten()[0].item())
