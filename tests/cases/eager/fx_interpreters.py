"""Interpreters and transformers of graphs; what nodes hold, and that their arguments stay as they are."""
import torch, torch.fx as fx, operator
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.node import Node, map_arg, map_aggregate
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.c = torch.nn.Conv2d(3, 4, 3); self.b = torch.nn.BatchNorm2d(4); self.p = torch.nn.Parameter(torch.ones(4, 1, 1))
    def forward(self, x, scale: float = 2.0):
        x = self.b(self.c(x)) * self.p
        return torch.flatten(x, 1).clamp(min=0.0), x.size(0), scale
gm = fx.symbolic_trace(M())
ShapeProp(gm).propagate(torch.randn(2, 3, 5, 5))
for n in gm.graph.nodes: print(n.name, n.op, n.meta.get("tensor_meta"), n.meta.get("type"))
class Count(fx.Interpreter):
    def __init__(self, m): super().__init__(m); self.seen = []
    def run_node(self, n):
        r = super().run_node(n); self.seen.append((n.name, type(r).__name__)); return r
    def call_module(self, target, args, kwargs): print("module", target); return super().call_module(target, args, kwargs)
c = Count(gm); c.run(torch.randn(2, 3, 5, 5), 3.0); print(c.seen)
class Neg(fx.Transformer):
    def call_method(self, target, args, kwargs):
        if target == "clamp": return super().call_function(torch.neg, args, {})
        return super().call_method(target, args, kwargs)
print(Neg(gm).transform().code)
for n in gm.graph.nodes:
    na = n.normalized_arguments(gm, normalize_to_only_use_kwargs=True)
    print(n.name, na and (na.args, na.kwargs))
n = gm.graph.find_nodes(op="call_function", target=torch.flatten)[0]
print(type(n.args).__name__, n.all_input_nodes, n.users, n.prev, n.next, n._input_nodes if False else "", n.is_impure(), n.args[1])
with gm.graph.inserting_after(n):
    new = gm.graph.call_function(torch.relu, (n,))
n.replace_all_uses_with(new, delete_user_cb=lambda u: u is not new)
new2 = gm.graph.node_copy(new); print(new2, len(gm.graph.nodes)); gm.graph.erase_node(new2)
try: gm.graph.erase_node(n)
except Exception as e: print(type(e).__name__, e)
gm.graph.lint(); gm.recompile(); print(gm.code); print(gm.graph)
gm.delete_submodule("b"); print(gm.add_submodule("x.y", torch.nn.ReLU()), [k for k, _ in gm.named_modules()])
print(gm.print_readable(print_output=False))
g2 = fx.Graph(); env = {}
out = g2.graph_copy(gm.graph, env); print(out, len(env))
print(map_arg((n, [n, 1]), lambda q: q.name), map_aggregate({"a": [1, 2]}, lambda q: q))
try: n.args[0] = 3
except Exception as e: print(type(e).__name__, e)
l = gm.graph.call_function(torch.cat, ([n, n], 0)); print(type(l.args[0]), l.args)
try: l.args[0].append(3)
except Exception as e: print(type(e).__name__, e)
gm.graph.erase_node(l)
print(gm.graph.python_code("self").src[:200])
