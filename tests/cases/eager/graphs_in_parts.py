import torch, operator
from torch import fx, nn
from torch.fx import symbolic_trace, Interpreter, Transformer, replace_pattern, subgraph_rewriter
from torch.fx.passes.split_module import split_module
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.passes.graph_drawer import FxGraphDrawer

class M(nn.Module):
    def __init__(s):
        super().__init__(); s.l = nn.Linear(4, 4); s.r = nn.ReLU(); s.p = nn.Parameter(torch.ones(4))
    def forward(s, x, y=None):
        z = s.r(s.l(x)) + s.p
        z = torch.cat([z, z.neg()], dim=-1)
        return z.sum(-1), (z * 2).view(-1)
torch.manual_seed(0)
gm = symbolic_trace(M())

print(gm.code)
for n in gm.graph.nodes: print(n.op, n.name, n.args, n.kwargs, list(n.users), n.all_input_nodes)
ShapeProp(gm).propagate(torch.randn(3, 4))
print([(n.name, n.meta["tensor_meta"].shape if hasattr(n.meta.get("tensor_meta"), "shape") else None) for n in gm.graph.nodes])

def count(n):
    count.i += 1
    return count.i // 4
count.i = 0
sp = split_module(gm, M(), count)
print(sp.code)
print([n for n, _ in sp.named_children()])
for n, c in sp.named_children(): print(c.code)
x = torch.randn(3, 4)
sp2 = split_module(gm, gm, lambda n: 0 if n.name in ("l", "r") else 1)
print(torch.equal(sp2(x)[0], gm(x)[0]))

class Log(Interpreter):
    def run_node(self, n):
        r = super().run_node(n)
        print("ran", n.name, type(r).__name__)
        return r
    def call_function(self, target, args, kwargs):
        if target is operator.add: return args[0] - args[1]
        return super().call_function(target, args, kwargs)
print(Log(gm).run(x)[0].shape)
class Swap(Transformer):
    def call_method(self, target, args, kwargs):
        if target == "neg": return super().call_function(torch.sigmoid, args, kwargs)
        return super().call_method(target, args, kwargs)
    def call_module(self, target, args, kwargs):
        if target == "r": return torch.nn.functional.gelu(args[0])
        return super().call_module(target, args, kwargs)
t = Swap(gm).transform()
print(t.code)
def pat(a, b): return torch.cat([a, b], dim=-1)
def rep(a, b): return torch.stack([a, b], dim=-1)
ms = replace_pattern(t, pat, rep)
print(len(ms), ms[0].anchor, sorted(str(k) for k in ms[0].nodes_map))
print(t.code)
try: FxGraphDrawer(gm, "m")
except RuntimeError as e: print(e)
