"""Patterns in graphs, found and replaced."""
import torch, torch.fx as fx
from torch.fx import subgraph_rewriter
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
class M(torch.nn.Module):
    def forward(self, x, w):
        a = torch.add(x, w); b = torch.relu(a)
        c = torch.add(b, w); d = torch.relu(c)
        return d + torch.neg(x)
def pattern(x, y): return torch.relu(torch.add(x, y))
def replacement(x, y): return torch.sigmoid(torch.mul(x, y))
gm = fx.symbolic_trace(M())
ms = subgraph_rewriter.replace_pattern(gm, pattern, replacement)
print(len(ms), [m.anchor.name for m in ms], gm.code)
gm = fx.symbolic_trace(M())
def flt(match, original_graph, pattern_graph):
    return any(n.name == "relu_1" for n in match.nodes_map.values())
r = subgraph_rewriter.replace_pattern_with_filters(gm, pattern, replacement, match_filters=[flt])
print(len(r), [n.name for n in r[0].replacements], r[0].anchor, gm.code)
pg = fx.symbolic_trace(pattern).graph
gm = fx.symbolic_trace(M())
m = SubgraphMatcher(pg, match_output=False, match_placeholder=False, remove_overlapping_matches=True)
for x in m.match(gm.graph):
    print(x.anchors, x.placeholder_nodes, x.returning_nodes, {str(k): str(v) for k, v in x.nodes_map.items()}, x.name_node_map)
gm = fx.symbolic_trace(M())
def cb(match, og, pg):
    g = fx.Graph(); a = g.placeholder("x"); b = g.placeholder("y"); g.output(g.call_function(torch.sub, (a, b))); return g
r = subgraph_rewriter.replace_pattern_with_filters(gm, pattern, replacement_callback=cb)
print(gm.code)
ep = torch.export.export(M(), (torch.ones(3), torch.ones(3)))
def pat2(x, y): return torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(x, y))
def rep2(x, y): return torch.ops.aten.tanh.default(torch.ops.aten.sub.Tensor(x, y))
r = subgraph_rewriter.replace_pattern_with_filters(ep.graph_module, fx.symbolic_trace(pat2).graph, fx.symbolic_trace(rep2).graph)
print(len(r), ep.graph_module.code)
print(ep.module()(torch.ones(3), torch.zeros(3)))
class Lin(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.l = torch.nn.Linear(2, 2); s.r = torch.nn.ReLU()
    def forward(s, x): return s.r(s.l(x))
class Rep(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.l = torch.nn.Linear(2, 2)
    def forward(s, x): return torch.tanh(s.l(x))
g = fx.symbolic_trace(Lin())
subgraph_rewriter.replace_pattern(g, Lin(), Rep())
print(g.code, [n for n, _ in g.named_modules()])
