"""A graph run on fake tensors: every node learns what its value looks like."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.interpreter import Interpreter
from torch.utils._pytree import tree_map_only

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a module's graph on fake tensors; a node's is in `node.meta["val"]`."""

    def __init__(self, module, mode=None):
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n):
        result = super().run_node(n)
        n.meta["val"] = result
        return result

    def propagate(self, *args):
        """Runs the graph on what stands for these arguments."""
        return self.propagate_dont_convert_inputs(*tree_map_only(torch.Tensor, self._mode.from_tensor, args))

    def propagate_dont_convert_inputs(self, *args):
        """Runs the graph on fake tensors."""
        with self._mode:
            return self.run(*args)
