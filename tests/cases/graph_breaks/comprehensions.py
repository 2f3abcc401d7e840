"""Graphs that end in comprehensions and generators: those are functions of their own, left to Python; what they call is not."""
import torch


@torch.compile
def items(x):
    scale = x.abs().max()
    values = [v.item() for v in x / scale]
    return x * sum(values)


@torch.compile
def chosen(xs):
    outs = [x.relu() if x.sum() > 0 else x for x in xs]
    return torch.stack(outs).sum(0)


def shifted(x):
    y = x * 3
    print("shifted", tuple(y.shape))
    return y + 1


@torch.compile
def calls(xs):
    first = xs[0].cos()
    named = {name: shifted(x) for name, x in zip("ab", xs)}
    return first + named["a"] * named["b"]


def positives(xs):
    for x in xs:
        if x.sum() > 0:
            yield x * 2


@torch.compile
def from_generator(xs):
    total = xs[0].sin()
    for y in positives(xs):
        total = total + y
    return total


@torch.compile
def from_expression(xs):
    base = xs[0].exp()
    largest = max(x.sum().item() for x in xs)
    return base * largest


@torch.compile
def nested(xs):
    rows = [[(x * k).sum().item() for k in (1, 2)] for x in xs]
    return xs[0] * rows[0][1] + xs[1] * rows[1][0]


xs = [torch.ones(3, requires_grad=True), -torch.ones(3)]
print(items(torch.tensor([1.0, 2.0, 3.0])))
print(chosen(xs), chosen(xs[::-1]))
out = calls(xs)
out.sum().backward()
print(out, xs[0].grad)
print(from_generator(xs))
print(from_expression(xs))
print(nested(xs))
print(torch._dynamo.utils.counters["stats"]["unique_graphs"])
