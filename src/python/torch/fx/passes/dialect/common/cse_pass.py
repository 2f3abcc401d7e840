"""`CSEPass`: calls that were made before with the same arguments are not made again."""

import torch
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.utils._pytree import tree_flatten

__all__ = ["CSEPass", "get_CSE_banned_ops"]

# Operators that draw, and that write.
_DRAWING = "dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial rrelu rand_like rand randint randn randperm"
_WRITING = "add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_"


def get_CSE_banned_ops():
    """Operators whose calls are never the same."""
    found = (getattr(torch.ops.aten, name, None) for name in f"{_DRAWING} {_WRITING}".split())
    return {packet for packet in found if packet is not None}


class CSEPass(PassBase):
    """Of functional graphs; `banned_ops` are never merged."""

    def __init__(self, banned_ops=None):
        self.banned_ops = banned_ops if banned_ops is not None else set()

    def call(self, graph_module):
        graph, made, known, changed = Graph(), {}, {}, False
        for node in graph_module.graph.nodes:
            packet = getattr(node.target, "overloadpacket", node.target)
            if node.op in ("placeholder", "output", "get_attr") or packet in self.banned_ops:
                made[node] = graph.node_copy(node, made.__getitem__)
                continue
            leaves, spec = tree_flatten((node.args, node.kwargs))
            # One and True are equal, and not the same.
            leaves = tuple((type(leaf), made.get(leaf, leaf) if isinstance(leaf, Node) else leaf) for leaf in leaves)
            call = (node.target, leaves, repr(spec))
            if call in known:
                made[node], changed = known[call], True
            else:
                made[node] = known[call] = graph.node_copy(node, made.__getitem__)
        return PassResult(GraphModule(graph_module, graph) if changed else graph_module, changed)
