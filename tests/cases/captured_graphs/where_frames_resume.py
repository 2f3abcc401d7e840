import contextlib

import torch


def show(f, *args):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()

    def backend(gm, inputs):
        print("  ", [n.name for n in gm.graph.nodes])
        return gm

    print(f.__name__)
    print("  ", torch.compile(f, backend=backend)(*args))
    print("  ", {text.split("\n")[0]: n for text, n in torch._dynamo.utils.counters["graph_break"].items()})


class Asked:
    """An object whose every method breaks the graph."""

    value = 1

    @property
    def read(self):
        print("read")
        return self.value

    def __add__(self, other):
        print("add")
        return other + 1

    def __len__(self):
        print("len")
        return 1

    def __lt__(self, other):
        print("lt")
        return True

    def __contains__(self, other):
        print("contains")
        return True

    def __bool__(self):
        print("bool")
        return True

    def __iter__(self):
        print("iter")
        return iter([1, 2])

    def __neg__(self):
        print("neg")
        return 1

    def __setitem__(self, key, value):
        print("set item")


asked = Asked()


def in_try(x):
    z = x.sin().cos()
    try:
        print("here")
        z = z + 1
    except ValueError:
        pass
    return z + 1


def try_first(x):
    try:
        z = x.sin().cos()
        print("here")
    finally:
        pass
    return z + 1


def in_loop(x):
    z = x.sin().cos()
    for k in range(2):
        z = z + 1
        print(k)
    return z + 1


def slice_in_loop(x):
    z = x.sin().cos()
    for k in range(2):
        z = z + 1
        v = z[x[0].long() :]
    return z + 1 + v


def slice_in_while(x):
    z, k = x.sin().cos(), 0
    while k < 2:
        z = z + 1
        v = z[x[0].long() :]
        z = z + 2
        k += 1
    return z + 1 + v


def attribute(x):
    z = x.sin().cos()
    z = z.exp() + asked.read
    return z + 1


def attribute_after_one_call(x):
    y = x.sin()
    z = y.exp() + asked.read
    return z.tan()


def operator(x):
    z = x.sin().cos()
    z = asked + z.exp()
    return z + 1


def negative(x):
    z = x.sin().cos()
    z = z.exp() + -asked
    return z + 1


def length(x):
    z = x.sin().cos()
    z = z.exp() + len(asked)
    return z + 1


def compared(x):
    z = x.sin().cos()
    if asked < 1:
        z = z + 3
    return z + 1


def contained(x):
    z = x.sin().cos()
    if 1 in asked:
        z = z + 3
    return z + 1


def truth(x):
    z = x.sin().cos()
    if asked:
        z = z + 3
    return z + 1


def opposite(x):
    z = x.sin().cos()
    z = z.exp().tan() + (not x[0])
    return z + 1


def iterated(x):
    z = x.sin().cos()
    for k in asked:
        z = z + k
    return z + 1


def item_set(x):
    z = x.sin().cos()
    asked[3] = z.exp() + 2
    return z + 1


class Prints:
    def __enter__(self):
        print("enter")

    def __exit__(self, *args):
        print("exit")


class Quiet:
    def __enter__(self):
        pass

    def __exit__(self, *args):
        pass


@contextlib.contextmanager
def generated():
    with torch.no_grad():
        yield


def entering(x):
    z = x.sin().cos()
    with Prints():
        z = z + 2
    return z + 1


def own_block(x):
    z = x.sin().cos()
    with Quiet():
        z = z + 2
        print("in")
    return z + 1


def generated_block(x):
    z = x.sin().cos()
    with generated():
        z = z + 2
        print("in")
    return z + 1


def suppressed(x):
    z = x.sin().cos()
    with contextlib.suppress(ValueError):
        z = z + 2
        print("in")
    return z + 1


def grad_block(x):
    z = x.sin().cos()
    with torch.no_grad():
        z = z + 2
        print("in")
    return z + 1


def grad_block_in_try(x):
    z = x.sin().cos()
    try:
        with torch.no_grad():
            z = z + 2
            print("in")
    finally:
        pass
    return z + 1


def no_block(x):
    z = x.sin().cos()
    with contextlib.nullcontext():
        z = z + 2
        print("in")
    return z + 1


def called(z):
    return z.tan().cos() * 2


def calls_behind(x):
    z = x.sin().cos()
    z = z.exp() + asked.read
    return called(z)


def breaks_inside(z):
    a = z.tan().cos() * 2
    b = a.exp() + asked.read
    return b.sin()


def calls_one_that_breaks(x):
    z = x.sin().cos()
    return breaks_inside(z) + 1


def retained(x):
    z = x.sin().cos()
    z.retain_grad()
    return called(z)


def retained_first(x):
    return (x.sin().retain_grad(), x.cos() + 1)[1]


w = torch.ones(3, 3)


def numbers_alone(x):
    n = int(x.sum())
    y = w * n
    return y + 1


def names_torch(x):
    n = int(x.sum())
    return torch.sin(w * n)


x = torch.tensor([1.0, 0.5], requires_grad=True)
for f in [
    in_try, try_first, in_loop, slice_in_loop, slice_in_while, attribute, attribute_after_one_call, operator, negative, length,
    compared, contained, truth, opposite, iterated, item_set, entering, own_block, generated_block, suppressed, grad_block,
    grad_block_in_try, no_block, calls_behind, calls_one_that_breaks, retained, retained_first,
]:  # fmt: skip
    show(f, x)
for f in [numbers_alone, names_torch]:
    show(f, torch.tensor([1, 2]))
