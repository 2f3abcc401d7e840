"""Passes over graphs and their managers; nodes that came of a function or module of the script."""
import torch, torch.fx as fx, operator
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.fx.passes.infra.pass_manager import PassManager, this_before_that_pass_constraint, pass_result_wrapper
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

class AddToMul(PassBase):
    def call(self, gm):
        modified = False
        for node in gm.graph.nodes:
            if node.op == "call_function" and node.target in (torch.add, operator.add):
                node.target = torch.mul
                modified = True
        return PassResult(gm, modified)
    def requires(self, gm): print("requires", len(gm.graph.nodes))
    def ensures(self, gm): print("ensures", len(gm.graph.nodes))

def relu_to_sigmoid(gm):
    for node in gm.graph.nodes:
        if node.target is torch.relu: node.target = torch.sigmoid
    gm.recompile()
    return gm

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 3)
    def forward(self, x):
        return torch.relu(self.l(x) + x)

gm = fx.symbolic_trace(M())
p = AddToMul()
r = p(gm)
print(r.modified, r.graph_module.code, type(r).__name__, tuple(r)[1])
pm = PassManager(passes=[p, pass_result_wrapper(relu_to_sigmoid)], steps=2, run_checks_after_each_pass=True, suppress_check_failures=False)
pm.add_constraint(this_before_that_pass_constraint(p, pm.passes[1]))
pm.add_checks(lambda m: print("check", type(m).__name__))
res = pm(gm)
print(res.modified, res.graph_module.code)
try:
    bad = PassManager(passes=[pass_result_wrapper(relu_to_sigmoid), lambda g: g])
    bad(gm)
except Exception as e: print(type(e).__name__, str(e)[:200])
def f(x, w):
    y = torch.nn.functional.linear(x, w)
    return torch.relu(y).sum()
g = []
def backend(m, _):
    g.append(m); return m
torch.compile(f, backend=backend)(torch.randn(2, 3), torch.randn(4, 3))
for k, v in get_source_partitions(g[0].graph, [torch.nn.functional.linear, torch.relu]).items():
    for part in v: print(k.__name__, part.nodes, part.input_nodes, part.output_nodes, part.params)
ep = torch.export.export(M(), (torch.randn(2, 3),))
print({str(k): len(v) for k, v in get_source_partitions(ep.graph, [torch.nn.Linear, torch.relu, torch.nn.functional.relu]).items()})
