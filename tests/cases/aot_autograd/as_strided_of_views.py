"""A write through `as_strided` of another view is refused; through one of a tensor itself it is a scatter."""
import torch


def attempt(name, f, *args):
    try:
        print(name, f(*args), *args)
    except Exception as error:
        print(name, type(error).__name__, str(error).split("As a workaround")[0])


m = lambda: torch.arange(12.0).reshape(3, 4).clone()


@torch.compile
def diagonal(m):
    m.diagonal().as_strided((3,), (1,), 0).add_(10.0)
    return m.sum()


@torch.compile
def transposed(m):
    m.t().as_strided((2, 2), (1, 4), 0).mul_(2.0)
    return m.sum()


@torch.compile
def sliced_value(m):
    y = m * 2
    y[1:].as_strided((3,), (1,), 0).zero_()
    return y


@torch.compile
def view_of_as_strided(m):
    y = m * 2
    y.as_strided((3, 2), (4, 1), 0)[1].add_(1.0)
    return y


@torch.compile
def read_only(m):
    return m.t().as_strided((2, 2), (1, 4), 0) * 2


@torch.compile
def whole(m):
    m.as_strided((2, 2), (5, 1), 1).mul_(3.0)
    return m + 1


for f in (diagonal, transposed, sliced_value, view_of_as_strided, read_only, whole):
    attempt(getattr(f, "__name__"), f, m())
