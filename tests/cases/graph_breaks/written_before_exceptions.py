# What a compiled function wrote to its tensors before an exception left it, and what its handlers wrote.

import torch
log = []
def a(x): x.add_(1); raise ValueError("a")
def b(x):
    try: x.add_(1); raise ValueError("a")
    finally: x.mul_(3); log.append("b")
def c(x):
    y = x[0]; y.mul_(2)
    return {}["k"]
buf = torch.zeros(2)
def d(x):
    buf.add_(x.sum())
    x.view(7)
def e(x):
    x.mul_(2)
    try: x.view(7)
    finally: buf.add_(1)
def f(x):
    x.mul_(2)
    x.view(7)
for fn in (a, b, c, d, e, f):
    for be in ("eager", "aot_eager"):
        torch._dynamo.reset()
        x = torch.ones(2, 2)
        for _ in range(2):
            try: print(fn.__name__, torch.compile(fn, backend=be)(x))
            except Exception as ex: print(fn.__name__, be, type(ex).__name__, str(ex).split("\n")[0], x.sum(), buf.sum(), log)

def f(x, y):
    try: return x + y
    finally: pass
def g(x, y):
    with torch.no_grad(): return torch.cat([x, y], 1)
def h(x, y):
    try: return x @ y
    except KeyError: return None
def k(x, y):
    try: x.add_(y); return x
    finally: x.mul_(3)
def m(x, y):
    try: return torch.nn.functional.linear(x, y)
    finally: pass
for fn in (f, g, h, k, m):
    for d in (None, True):
        torch._dynamo.reset()
        x, y = torch.ones(2, 3), torch.ones(4, 5)
        try: print(fn.__name__, torch.compile(fn, backend="eager", dynamic=d)(x, y))
        except Exception as e: print(fn.__name__, type(e).__name__, str(e).split("\n")[0], x.sum())
