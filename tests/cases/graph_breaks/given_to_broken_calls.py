# What a call is given in which the graph ends: truths and strings stay lazy, so that only their types are guarded.

import torch
def inner(x, w=1, **kw):
    torch._dynamo.graph_break()
    return x + 1
def probe(f):
    for a, b in ((True, False), ("a", "b"), (1.5, 2.5), (None, "a"), (1, 2), (torch.float32, torch.float64), ((1, True), (1, False)), (("a",), ("b",)), (1+2j, 2+1j)):
        torch._dynamo.reset()
        c = torch.compile(f, backend="eager")
        x = torch.ones(4, 3)
        c(x, a); c(x, b)
probe(lambda x, v: (x * 2, inner(x * 3, v)))
probe(lambda x, v: (x * 2, inner(x * 3, w=v)))
probe(lambda x, v: (x * 2, v, inner(x * 3)))

def told(x, verbose=False):
    if verbose: print("verbose", x.shape)
    torch._dynamo.graph_break()
    return x + 1
@torch.compile(backend="eager")
def f(x, v):
    return told(x * 2, v).relu()
x = torch.ones(4, 3)
f(x, False); f(x, True)
