# Functions given to control flow that write to what they are given or read, or whose values share memory.
import torch
from torch._higher_order_ops.map import map as hop_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


def case(name, f, *args):
    try:
        print(name, "->", torch.compile(f)(*args))
    except Exception as e:
        lines = [line for line in str(e).splitlines() if line]
        print(name, "!!", type(e).__name__, lines[0][:60])
        print("   ", "\n    ".join(line for line in lines[1:4] if "FakeTensor" not in line))


def X(*s):
    return torch.arange(1.0, 1.0 + torch.Size(s).numel()).reshape(s)


def closure(x, b):
    def yes(v):
        b.add_(1)
        return v + b

    return torch.cond(x.sum() > 0, yes, lambda v: v - b, (x,))


def written_afterwards(x):
    y = x * 2
    r = torch.cond(x.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (y,))
    y.add_(1)
    return r, y


case("writes", lambda x: torch.cond(x.sum() > 0, lambda t: t.add_(1), lambda t: t.cos(), (x,)), X(3))
case("writes to what it reads", closure, X(3), X(3))
case("written afterwards", written_afterwards, X(3))
case("gives a view", lambda x: torch.cond(x.sum() > 0, lambda t: t.view(-1), lambda t: t.cos(), (x,)), X(3))
case("gives its argument", lambda x: torch.cond(x.sum() > 0, lambda t: t, lambda t: t.cos(), (x,)), X(3))
case("takes a view", lambda x: torch.cond(x.sum() > 0, lambda a, b: a + b, lambda a, b: a - b, (x, x.view(-1))), X(3))
case("number", lambda x: torch.cond(x.sum() > 0, lambda t: (t.sin(),), lambda t: (t.cos(), t.sin()), (x,)), X(3))
i = torch.tensor(0)
case("loop writes", lambda i, x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.add_(1)), (i, x)), i, X(3))
case("loop gives a view", lambda i, x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.view(-1)), (i, x)), i, X(3))
case("loop's dtype", lambda i, x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.double()), (i, x)), i, X(3))
case("map writes", lambda x: hop_map(lambda r: r.add_(1), x), X(3, 2))
case("map gives a view", lambda x: hop_map(lambda r: r.view(-1), x), X(3, 2))
case("scan writes", lambda h, x: scan(lambda h, x: (h.add_(x), h * x), h, x), X(2), X(3, 2))
case("scan gives a view", lambda h, x: scan(lambda h, x: (h + x, x.view(-1)), h, x), X(2), X(3, 2))
case("scan's dtype", lambda h, x: scan(lambda h, x: ((h + x).double(), h * x), h, x), X(2), X(3, 2))
