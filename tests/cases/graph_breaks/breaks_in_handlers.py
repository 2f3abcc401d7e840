# Breaks in handlers and finally clauses: the graph ends before the statement that is outside of them.
import torch
from torch._dynamo.testing import CompileCounter
def brk(): torch._dynamo.graph_break()
def h1(x):
    y = x.sin().cos() + 1
    try:
        raise ValueError(1)
    except ValueError:
        y = y * 2
        brk()
        y = y * 3
    return y - 1
def h2(x):
    y = x.sin().cos() + 1
    try:
        raise ValueError(1)
    except ValueError as e:
        y = y * 2
        brk()
        y = y * 3
    return y - 1
def h3(x):
    y = x.sin().cos() + 1
    try:
        y = y * 2
    finally:
        brk()
        y = y * 3
    return y - 1
def h4(x):
    y = x.sin().cos() + 1
    try:
        try:
            raise ValueError(1)
        finally:
            y = y * 2
            brk()
    except ValueError:
        y = y + 5
    return y - 1
def h5(x):
    y = x.sin().cos() + 1
    with torch.no_grad():
        try:
            raise KeyError(1)
        except KeyError:
            y = y * 2
        brk()
    return y - 1
def h6(x):
    y = x.sin().cos() + 1
    def inner(z):
        try:
            raise KeyError(1)
        except KeyError:
            z = z * 2
            brk()
            return z * 3
    return inner(y) - 1
for fn in (h1, h2, h3, h4, h5, h6):
    torch._dynamo.reset(); k = CompileCounter()
    try: print(fn.__name__, torch.compile(fn, backend=k)(torch.ones(1)), k.frame_count, k.op_count)
    except Exception as e: print(fn.__name__, type(e).__name__, str(e)[:90])
