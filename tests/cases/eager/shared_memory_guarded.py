# `StorageOverlap`: memory that inputs share is guarded where symbols stand for their geometry.
import torch
from torch._dynamo.testing import CompileCounterWithBackend
def r(): return torch.ones(8)
def run(name, calls, dynamic=None, body=None):
    torch._dynamo.reset()
    cnt = CompileCounterWithBackend("aot_eager")
    def f(x, y):
        x.mul_(2)
        return x + y
    c = torch.compile(body or f, backend=cnt, dynamic=dynamic)
    for make in calls:
        b, args = make()
        try:
            print(name, c(*args).tolist(), b.tolist(), cnt.frame_count)
        except Exception as e:
            print(name, type(e).__name__, str(e).splitlines()[:1])
def apart():
    b = r(); return b, (torch.ones(4), torch.ones(4))
def over():
    b = r(); return b, (b[:4], b[2:6])
def same():
    b = r(); return b, (b[:4], b[:4])
def beside():
    b = r(); return b, (b[:4], b[4:])
def twice():
    b = r()[:4]; return b, (b, b)
def offset1():
    b = r(); return b, (b[:4], b[1:5])
for d in (True,):
    run(f"{d} apart first", [apart, over, same, beside, twice, apart], d)
    run(f"{d} over first", [over, apart], d)
    run(f"{d} over/same", [over, same, offset1, beside], d)
    run(f"{d} beside/over", [beside, over, apart], d)
    run(f"{d} twice", [twice, apart, over], d)


def g(x, y, z):
    y.add_(1)
    return x + y + z.sum()


def three(kind):
    def make():
        b = torch.arange(12.0)
        rows = b.view(3, 4)
        args = {
            "apart": (torch.ones(4), torch.ones(4), torch.ones(4)),
            "xy": (b[:4], b[1:5], b[8:]),
            "yz": (b[:4], b[5:9], b[6:10]),
            "all": (b[:4], b[:4].view(4), b[2:6]),
            "rows": (rows[0], rows[1], rows[2]),
        }
        return b, args[kind]
    return make


kinds = ("apart", "xy", "yz", "all", "rows")
for d in (True,):
    for first in kinds:
        run(f"{d} {first}", [three(kind) for kind in (first, *kinds)], d, g)
