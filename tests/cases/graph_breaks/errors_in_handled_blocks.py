"""An exception of a call under fake tensors that passes through a `try` or a `with`."""
import torch
def f(x):
    try: return x.view(7)
    finally: print("fin")
def g(x):
    try: return x.view(7)
    except KeyError: pass
def h(x):
    try: return x.view(7)
    except RuntimeError as e: return x, type(e).__name__
def i(x):
    with torch.no_grad(): return x.view(7)
def j(x):
    try: return inner(x)
    finally: x = x + 1
def inner(x):
    return (x * 2).view(7)
def m(x):
    return [inner(x) for _ in range(2)]
def n(x):
    try:
        y = x + 1
    except ValueError: return x
    else:
        return inner(y)
for fn in (f, g, h, i, j, m, n):
    for full in (False, True):
        torch._dynamo.reset()
        try: print(fn.__name__, full, torch.compile(fn, backend="eager", fullgraph=full)(torch.ones(2)))
        except Exception as e: print(fn.__name__, full, type(e).__name__, str(e).split("\n")[0])
