"""Where patterns and sources stand in graphs, and graphs made of some of their nodes."""

from torch.fx.passes.utils.common import HolderModule, compare_graphs, lift_subgraph_as_module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
