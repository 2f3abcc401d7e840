"""Graphs as modules, and whether two are the same."""

import torch
from torch.fx.graph_module import GraphModule, _copy_attribute
from torch.nn import Module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """Attributes that a graph reads."""

    def __init__(self, d):
        super().__init__()
        for name, value in d.items():
            self.add_module(name, value)


def lift_subgraph_as_module(gm, subgraph, comp_name="", class_name="GraphModule"):
    """A graph of some nodes of a module's graph as a module, with what it reads of that; and by the old names the new ones."""
    submodule, renamed = HolderModule({}), {}
    for node in subgraph.nodes:
        if node.op in ("call_module", "get_attr"):
            _copy_attribute(gm, submodule, node.target)
            renamed[node.target] = f"{comp_name}.{node.target}"
    return GraphModule(submodule, subgraph, class_name), renamed


def compare_graphs(left, right):
    """Whether a graph is the other, but for names."""
    from torch.fx.passes.utils.matcher_utils import SubgraphMatcher

    return len(left.nodes) == len(right.nodes) and bool(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right))
