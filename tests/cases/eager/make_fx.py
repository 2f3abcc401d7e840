"""`make_fx`: what a function calls, as a graph."""

import torch
from torch.fx.experimental.proxy_tensor import make_fx
def f(x, y):
    z = x.sin() @ y
    return z.relu().sum(-1), {"a": z}
x, y = torch.randn(3, 4), torch.randn(4, 5)
gm = make_fx(f)(x, y)
print(gm.code)
print(gm.graph)
gm.print_readable()
print(type(gm).__name__, type(gm).__mro__[1].__name__)
print([ (n.op, n.name, str(n.target), n.args) for n in gm.graph.nodes])
r = gm(x, y)
print(type(r), torch.equal(r[0], f(x, y)[0]), torch.equal(r[1]["a"], f(x,y)[1]["a"]))
def g(x):
    x.add_(1)
    v = x[0]
    v.mul_(2)
    return x, v, torch.ones(3) + 1
gm = make_fx(g)(torch.zeros(2, 3))
print(gm.code)
def h(x, w):
    x = x.requires_grad_()
    loss = (x * w).exp().sum()
    return torch.autograd.grad(loss, x)
gm = make_fx(h)(torch.randn(3), torch.randn(3))
print(gm.code)
for mode in ("fake", "symbolic"):
    gm = make_fx(f, tracing_mode=mode)(x, y)
    print(mode, gm.code)
c = torch.tensor([1., 2.])
def k(x):
    return x + c
gm = make_fx(k)(torch.randn(2))
print(gm.code)
print(gm._tensor_constant0)
lin = torch.nn.Linear(3, 2)
gm = make_fx(lin)(torch.randn(4, 3))
print(gm.code)
from torch.func import functionalize, grad, vmap
print(make_fx(functionalize(g))(torch.zeros(2,3)).code)
print(make_fx(functionalize(g, remove="mutations_and_views"))(torch.zeros(2,3)).code)
print(make_fx(grad(lambda x: x.sin().sum()))(torch.randn(3)).code)
print(make_fx(vmap(lambda x: x.sin().sum()))(torch.randn(3, 2)).code)
def kw(x, *, scale):
    return x * scale
try:
    print(make_fx(kw)(torch.randn(3), scale=2.0).code)
except Exception as e: print(type(e).__name__, e)
def tree(d, l):
    return d["a"] + l[0] * l[1]
print(make_fx(tree)({"a": torch.ones(2)}, [torch.ones(2), 3.0]).code)
def it(x):
    if x.sum().item() > 0:
        return x + 1
    return x - 1
try:
    print(make_fx(it)(torch.ones(2)).code)
except Exception as e: print(type(e).__name__, e)
def ifx(x):
    if x.sum() > 0:
        return x + 1
    return x - 1
try:
    print(make_fx(ifx)(torch.ones(2)).code)
except Exception as e: print(type(e).__name__, e)
print(make_fx(lambda x: (x, None, 3))(torch.ones(2)).code)
print(make_fx(lambda x: x.split(1))(torch.ones(2)).code)
print(make_fx(lambda x: torch.nonzero(x))(torch.ones(2, 2)).code)
def ng(x):
    with torch.no_grad():
        y = x.sin()
    return y + x.cos()
print(make_fx(ng)(torch.ones(2, requires_grad=True)).code)
