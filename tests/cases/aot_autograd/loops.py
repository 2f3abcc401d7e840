import torch
from functorch.experimental.control_flow import map
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan


@torch.compile
def double(i, x):
    return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x))


w = torch.arange(3.0)


@torch.compile
def closed(x):
    def goes_on(i, x):
        return x.sum() < 10

    def body(i, x):
        return i + 1, x + w.abs()

    return torch._higher_order_ops.while_loop(goes_on, body, (torch.tensor(0), x))


print(double(torch.tensor(0), torch.ones(3)))
print(double(torch.tensor(5), torch.ones(3)))
print(closed(torch.ones(3)))


def row(x, y):
    return x.sin() * y


@torch.compile
def rows(xs, y):
    return map(row, xs, y)


xs = torch.arange(12.0).view(3, 4).requires_grad_()
y = torch.ones(4, requires_grad=True)
rows(xs, y).sum().backward()
print(xs.grad, y.grad)
with torch.no_grad():
    print(rows(xs, y))


@torch.compile
def of_two(xs, ys, k):
    return map(lambda rows, k: (rows[0] * k, rows[1].sum()), (xs, ys), k)


print(of_two(torch.ones(2, 3), torch.ones(2, 5), torch.ones(3)))


def step(c, x):
    n = c * 0.5 + x
    return n, n.sin()


@torch.compile
def carried(c, xs):
    return scan(step, c, xs, dim=0)


@torch.compile
def backwards(c, xs):
    return scan(lambda c, x: (c + x, c * x), c, xs, dim=1, reverse=True)


print(carried(torch.zeros(3), torch.ones(4, 3)))
print(backwards(torch.zeros(3), torch.ones(3, 4)))


@torch.compile
def running(xs):
    return associative_scan(lambda a, b: a + b, xs, dim=0, combine_mode="generic")


print(running(torch.ones(5, 2)))
