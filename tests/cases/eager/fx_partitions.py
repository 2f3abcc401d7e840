"""Graphs cut by what operators a backend has: partitions, splits, operators fused into modules."""
import torch, torch.fx as fx
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupport, OperatorSupportBase, create_op_support, any_chain, chain
from torch.fx.passes.tools_common import legalize_graph, get_node_target
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.l1 = torch.nn.Linear(4, 4); self.l2 = torch.nn.Linear(4, 4)
    def forward(self, a, b):
        x = self.l1(a); y = torch.add(x, b); z = torch.relu(y)
        w = torch.sin(z); v = torch.add(w, a); u = torch.relu(v)
        return self.l2(u), torch.add(u, z)
class Sup(OperatorSupport):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target in (torch.add, torch.relu)
gm = fx.symbolic_trace(M())
p = CapabilityBasedPartitioner(gm, Sup(), allows_single_node_partition=True)
parts = p.propose_partitions()
for q in parts: print(q.id, sorted(n.name for n in q.nodes), q.size())
fused = p.fuse_partitions(parts)
print(fused.code)
for n, m in fused.named_children():
    if isinstance(m, fx.GraphModule): print(n, m.code)
x = torch.randn(2, 4)
print(torch.allclose(fused(x, x)[0], M.forward(gm, x, x)[0]))
s = create_op_support(lambda mods, n: n.op == "call_module")
print([n.name for n in gm.graph.nodes if any_chain(s, Sup()).is_node_supported(dict(gm.named_modules()), n)])
print([n.name for n in gm.graph.nodes if chain(s, Sup()).is_node_supported(dict(gm.named_modules()), n)])
print([get_node_target(dict(gm.named_modules()), n) for n in gm.graph.nodes if n.op.startswith("call")])
print(legalize_graph(gm).graph)
from torch.fx.passes.split_module import split_module
sp = split_module(fx.symbolic_trace(M()), M(), lambda n: 0 if n.name in ("l1", "add", "relu") else 1)
print(sp.code, sp.submod_0.code, sp.submod_1.code)
