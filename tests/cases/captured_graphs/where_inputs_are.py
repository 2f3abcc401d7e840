import collections
import dataclasses
import functools

import torch


def show(gm, inputs):
    print(gm.code.strip())
    return gm.forward


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor


Point = collections.namedtuple("Point", "x y")
ones = torch.ones(2)


@torch.compile(backend=show)
def fields(pair, point):
    return Pair(pair.a + point.x, pair.b * point.y), Point(point.x - 1, point.y)


class Scaled:
    factor = torch.full((2,), 2.0)

    def __init__(self):
        self.shift = torch.ones(2)

    def go(self, x):
        return x * self.factor + self.shift


def outer(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapped


@torch.compile(backend=show)
@outer
def decorated(x):
    return x * 2


@torch.compile(backend=show)
def remembers(x, cache={}):
    if "k" not in cache:
        cache["k"] = x * 2
    return cache["k"] + x


@torch.compile(backend=show)
def gradient(w):
    return w.grad * w


def three(a, b, c):
    return a * b + c


print(fields(Pair(ones, torch.ones(2)), Point(torch.ones(2), torch.ones(2))))
print(torch.compile(Scaled().go, backend=show)(ones))
print(decorated(ones))
print(remembers(ones), remembers(ones))
print(torch.compile(functools.partial(three, ones), backend=show)(torch.ones(2), c=torch.ones(2)))
weight = torch.ones(2, requires_grad=True)
(weight * 3).sum().backward()
print(gradient(weight))


@torch.compile(backend=show)
def several(x):
    a, (b, c) = outside(x + 1)
    return a + b * c


@torch.compiler.disable
def outside(x):
    return x, [x * 2, x * 3]


@torch.compile(backend=show)
def data(x):
    return x.data * 2, x.data.add_(1)


@torch.compile(backend=show)
def extremes(a, b):
    return max(a.sum(), b.sum()) + min(a.mean(), b.mean(), a.max()) + max(a.sum(), 1.0)


@torch.compile(backend=show)
def fused(x, a, b):
    y = x.clone()
    y.addcmul_(a, b, value=0.5)
    y.addcdiv_(a, b, value=-2.0)
    return y.add_(a, alpha=b[0])


print(several(ones))
print(data(torch.ones(2)))
print(extremes(ones, torch.full((2,), 3.0)))
print(fused(ones, torch.ones(2), torch.ones(2)))
