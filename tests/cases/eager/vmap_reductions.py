# What vmap makes of reductions over whole examples, along a dimension and of numbers.
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.func import vmap
x2, x3 = torch.randn(3, 4), torch.randn(3, 4, 2)
def t(f, x):
    try:
        g = make_fx(vmap(f))(x); print(g.code.strip().split("\n", 1)[1]); r, w = g(x), vmap(f)(x); print(all(torch.equal(a, b) for a, b in zip(r if isinstance(r, tuple) else [r], w if isinstance(w, tuple) else [w])))
    except Exception as e: print(type(e).__name__, str(e)[:100])
for f in (lambda x: x.argmax(), lambda x: x.argmin(), lambda x: x.argmax(0), lambda x: x.argmax(-1, keepdim=True), lambda x: x.max(), lambda x: x.sum(), lambda x: x.std(), lambda x: x.var(0), lambda x: x.norm(), lambda x: x.median(), lambda x: x.prod(), lambda x: x.amax(), lambda x: x.all(), lambda x: x.logsumexp(0), lambda x: x.aminmax(), lambda x: x.mean(), lambda x: x.any(), lambda x: x.cumsum(0), lambda x: x.max(0), lambda x: x.sort(0), lambda x: x.topk(1, 0), lambda x: x.kthvalue(1, 0), lambda x: x.mode(0), lambda x: x.count_nonzero(), lambda x: x.nansum(), lambda x: x.std(0, correction=0), lambda x: torch.var_mean(x), lambda x: x.argsort(0), lambda x: x.softmax(0), lambda x: x.argmax(keepdim=True)):
    t(f, x2); t(f, x3)
x1 = torch.randn(3)
for f in (lambda x: x.argmax(), lambda x: x.max(), lambda x: x.sum(), lambda x: x.median(), lambda x: x.prod(), lambda x: x.all(), lambda x: x.any(), lambda x: x.aminmax(), lambda x: x.count_nonzero(), lambda x: x.nansum(), lambda x: x.max(0), lambda x: x.argmax(0), lambda x: x.count_nonzero(0), lambda x: x.nanmedian()):
    t(f, x1)
for f in (lambda x: x.count_nonzero(0), lambda x: x.count_nonzero((0,)), lambda x: x.nansum(0), lambda x: x.nanmedian(), lambda x: x.nanmedian(0), lambda x: x.prod(0), lambda x: x.all(0), lambda x: x.min(), lambda x: x.aminmax(dim=0), lambda x: torch.std_mean(x, 0), lambda x: x.nanmean()):
    t(f, x2); t(f, x3)
