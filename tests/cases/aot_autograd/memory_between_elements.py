"""Writes through views of inputs that have gaps: the scatters of functionalization keep the memory between the elements, which other
views of the input read."""
import torch


def rows(x):
    w = x.as_strided((2, 3), (3, 1), x.storage_offset())
    x[0] = 100
    w[1].fill_(-1)
    return w.sum(1)


def part(x):
    w = x.as_strided((5,), (1,), x.storage_offset())
    x[1:3] += 50
    return w * 2


def corner(x):
    w = x.as_strided((6,), (1,), x.storage_offset())
    x.diagonal().mul_(10)
    return w + 1


def own(x):
    y = (x * 1).as_strided((3,), (2,), 0)
    y[0] = 7
    return y.as_strided((5,), (1,), 0).clone(), y.stride()


flat = {"even": lambda: torch.arange(12)[::2], "tail": lambda: torch.arange(14)[2:], "dense": lambda: torch.arange(9)}
square = {"columns": lambda: torch.arange(18).reshape(3, 6)[:, 1::2], "turned": lambda: torch.arange(12).reshape(3, 4)[:, 1:].t()}
for f in (rows, part, corner):
    for name, make in (square if f is corner else flat).items():
        torch._dynamo.reset()
        x, y = make(), make()
        print(f.__name__, name, f(x).tolist(), torch.compile(f)(y).tolist(), torch.equal(x, y), y._base is None or y._base.tolist())
print(torch.compile(own)(torch.arange(8.0)))
