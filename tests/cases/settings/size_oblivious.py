import torch
import torch._dynamo as dynamo
from torch.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true, guard_size_oblivious, statically_known_true, sym_and, sym_or
from torch.fx.experimental import _config as fxc

log = []
def backend(gm, inputs):
    log.append([str(n.meta.get("example_value").shape) for n in gm.graph.nodes if isinstance(n.meta.get("example_value"), torch.Tensor)])
    return gm

@torch.compile(backend=backend, fullgraph=True, dynamic=True)
def f(x, y):
    if guard_size_oblivious(x.shape[0] == 1):
        return x
    if guard_or_false(x.shape[0] == y.shape[0]):
        return x + y
    if statically_known_true(sym_and(x.shape[0] > 0, y.shape[0] > 0)):
        return x * 2
    return x.sum() + y.sum()

for a, b in ((3, 3), (3, 4), (2, 2)):
    print(f(torch.ones(a), torch.ones(b)))
print(len(log), log)
dynamo.reset(); log.clear()

with fxc.patch(backed_size_oblivious=True):
    @torch.compile(backend=backend, fullgraph=True)
    def g(x):
        if x.shape[0] == 1:
            return x * 10
        return x.unsqueeze(0).expand(2, -1, -1) + 1
    x = torch.ones(4, 3)
    dynamo.mark_dynamic(x, 0)
    print(g(x).shape)
    print(g(torch.ones(1, 3)).shape, len(log))
dynamo.reset(); log.clear()

@torch.compile(backend=backend, fullgraph=True)
def h(x):
    n = x.shape[0]
    torch._check(n > 2)
    if guard_or_true(n < 100):
        return x[:2].sum() + n
    return x.sum()

x = torch.ones(6)
dynamo.decorators.mark_unbacked(x, 0)
print(h(x), log)
dynamo.reset(); log.clear()
@torch.compile(backend=backend, fullgraph=True)
def k(x):
    if x.shape[0] > 4:
        return x + 1
    return x - 1
x = torch.ones(6)
dynamo.decorators.mark_unbacked(x, 0)
try:
    k(x)
except Exception as e:
    print(type(e).__name__, str(e).strip().split("\n")[0])
