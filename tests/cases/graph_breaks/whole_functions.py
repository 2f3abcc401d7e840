"""fullgraph=True: numbers of tensors and sizes that values decide are part of the graph; exceptions and breaks are errors on every call."""
import torch


def show(f, *args, **how):
    try:
        print(f(*args))
    except Exception as e:
        print(type(e).__name__, "|", str(e).partition("\nfrom user code")[0].partition("\n  Hint")[0])


def whole(f):
    return torch.compile(f, fullgraph=True)


x = torch.tensor([0.0, 1.0, 2.0])
show(whole(lambda x: x[x > 0]), x)
show(whole(lambda x: x.nonzero()), x)
show(whole(lambda x: torch.where(x > 0)[0] * 2), x)
show(whole(lambda x: torch.masked_select(x, x > 0).shape[0]), x)
show(whole(lambda x: x[x > 0].reshape(-1, 1) + 1), x)
show(whole(lambda x: float(x.sum()) * 2.0), x)
show(whole(lambda x: x * float(x.sum())), x)
show(whole(lambda x: float(x.sum().long())), x)
show(whole(lambda x: int(x.long().sum()) + 1), x)


def prints(x):
    print("side")
    return x + 1


def prints_later(x):
    y = x * 2
    print("side")
    return y + 1


for f in (prints, prints_later):
    compiled = whole(f)
    show(compiled, x)
    show(compiled, x)
    show(whole(f), x)
    show(torch.compile(f), x)


class Refused(Exception):
    pass


def raises_its_own(x):
    raise Refused(3)


def checks(x):
    torch._check(x.shape[0] > 5, lambda: "too small")
    return x


def misses(x, d=None):
    return x + {}["missing"]


def asserts(x):
    assert x.shape[0] == 7, "seven"
    return x


def asks(x):
    return x + x.nope


def chained(x):
    y = x.sin()
    try:
        raise ValueError("in")
    except ValueError as e:
        raise RuntimeError("out") from e


for f in (raises_its_own, checks, misses, asserts, asks, chained):
    show(whole(f), x)
