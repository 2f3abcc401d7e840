"""scan and while_loop where nothing else is compiled: what they carry looks the same in every call, and is not what they were given."""
import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

init, xs = torch.zeros(2), torch.arange(6.0).view(3, 2)
zero = torch.tensor(0)


def show(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).partition("\n\nfrom user")[0].partition("\n\n  Developer")[0])


show(lambda: scan(lambda c, x: (c + x, c * 2), init, xs))
show(lambda: scan(lambda c, x: (c.to(torch.float64), x * 1), init, xs))
show(lambda: scan(lambda c, x: (c[:1] * 1, x * 2), init, xs))
show(lambda: scan(lambda c, x: (c + x, c.clone()), init, torch.zeros(0, 2)))
show(lambda: scan(lambda c, x: (c + x, (c.sum(), x.view(2, 1) * 2)), init, torch.zeros(0, 2)))
show(lambda: scan(lambda c, x: (c + x, x), init, xs))
show(lambda: scan(lambda c, x: (c, x * 2), init, xs))
show(lambda: scan(lambda c, x: (c.add_(1), x * 2), init.clone(), xs))
show(lambda: scan(lambda c, x: (c + 1, x.mul_(2).clone()), init, xs.clone()))
show(lambda: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2 + 1), (zero, init)))
show(lambda: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.double()), (zero, init)))
show(lambda: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x[:1] * 2), (zero, init)))
show(lambda: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1.5, x * 2), (zero, init)))
