"""torch.fx: tracing, editing, running and printing graphs; a backend that edits what it is given."""

import torch, torch.fx, operator
from torch import nn
import torch.nn.functional as F
from torch.fx import Interpreter, Transformer, replace_pattern, symbolic_trace
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.seq = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.param = nn.Parameter(torch.ones(4))
        self.register_buffer("buf", torch.arange(4.))
    def forward(self, x, scale: float = 2.0, *, flag=True):
        y = F.relu(self.bn(self.conv(x)))
        b, c, h, w = y.shape
        y = y.mean(dim=(2, 3)).view(b, c)
        y = y + self.param * scale - self.buf
        z = torch.cat([y, y], dim=1)[:, :4]
        q = torch.add(z, 1, alpha=2)
        t = 3 + q / 2 - (-q) ** 2
        return self.seq(t), {"z": z, "l": [b, (c, None)]}
torch.manual_seed(0)
m = Net()
g = symbolic_trace(m)
print(g.code)
print(g.graph)
print(g)
x = torch.randn(2, 1, 6, 6)
print(g(x)[0].shape, torch.equal(g.eval()(x)[0], m.eval()(x)[0]))
for n in g.graph.nodes:
    if n.op == "call_function" and n.target == operator.add: n.target = operator.mul
g.graph.lint(); g.recompile(); print(g.code)
class Count(Interpreter):
    def call_function(self, target, args, kwargs):
        print("calling", target.__name__); return super().call_function(target, args, kwargs)
print(Count(g).run(x)[0].shape)
@torch.fx.wrap
def my_len(x): return len(x)
def f(x, y):
    a = torch.sigmoid(x) * y
    b = my_len(a)
    return (a + y).clamp(min=0.0).sum(-1, keepdim=True), b
t = symbolic_trace(f); print(t.code); print(t(torch.ones(3), torch.ones(3)))
class T(Transformer):
    def call_function(self, target, args, kwargs):
        if target is torch.sigmoid: return torch.tanh(*args)
        return super().call_function(target, args, kwargs)
print(T(t).transform().code)
def h(x): return torch.relu(x) + torch.relu(x)
gm = symbolic_trace(h)
print(replace_pattern(gm, lambda x: torch.relu(x), lambda x: torch.sigmoid(x).neg()))
print(gm.code)
with gm.graph.inserting_after(list(gm.graph.nodes)[0]):
    new = gm.graph.call_function(torch.abs, (list(gm.graph.nodes)[0],))
print(gm.graph); print(gm.graph.eliminate_dead_code(), len(gm.graph.nodes))
try: symbolic_trace(lambda x: x if x.sum() > 0 else -x)
except Exception as e: print(type(e).__name__, e)
try: gm.graph.erase_node(list(gm.graph.nodes)[0])
except Exception as e: print(type(e).__name__, e)
from torch.fx.passes.shape_prop import ShapeProp
ShapeProp(gm).propagate(torch.ones(2,3))
for n in gm.graph.nodes: print(n.name, n.meta.get("tensor_meta"))
graph = torch.fx.Graph()
a = graph.placeholder("a"); b = graph.call_function(torch.neg, (a,)); c = graph.call_method("exp", (b,)); graph.output((b, c))
print(graph.python_code("self").src); print(torch.fx.GraphModule(nn.Module(), graph)(torch.zeros(2)))
import copy
print(copy.deepcopy(gm).code)
gm.print_readable()
@torch.compile(backend=lambda gm, ex: (gm.print_readable(), gm)[1])
def k(x): return (x * 2).relu()
print(k(torch.ones(2)))
def mod_backend(gm, ex):
    for n in gm.graph.nodes:
        if n.target == operator.mul:
            with gm.graph.inserting_after(n):
                new = gm.graph.call_function(torch.sub, (n.args[0], n.args[1]))
            n.replace_all_uses_with(new); gm.graph.erase_node(n)
    gm.recompile(); print(gm.code); return gm.forward
@torch.compile(backend=mod_backend)
def k(x): return (x * 2).relu()
print(k(torch.ones(2, requires_grad=True)*5))
from torch._dynamo.backends.common import aot_autograd
from functorch.compile import make_boxed_func
def comp(gm, ex):
    for n in gm.graph.nodes:
        if n.target == torch.ops.aten.mul.Tensor: n.target = torch.ops.aten.add.Tensor
    gm.recompile(); print(gm.code); gm.print_readable()
    return make_boxed_func(gm.forward)
@torch.compile(backend=aot_autograd(fw_compiler=comp))
def k(x): return (x * 2).relu().sum()
z = torch.ones(2, requires_grad=True); o = k(z); o.backward(); print(o, z.grad)
