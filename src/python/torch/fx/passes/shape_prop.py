"""Writes down what each node of a graph gives for certain inputs."""

from collections import namedtuple

import torch
from torch.fx.interpreter import Interpreter
from torch.fx.node import map_aggregate

TensorMetadata = namedtuple("TensorMetadata", ["shape", "dtype", "requires_grad", "stride", "memory_format", "is_quantized", "qparams"])


def _extract_tensor_metadata(result, include_contiguity=True):
    memory_format = None
    if include_contiguity:
        formats = (torch.contiguous_format, torch.channels_last) if result.dim() == 4 else (torch.contiguous_format,)
        memory_format = next((f for f in formats if result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), memory_format, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and keeps `meta["tensor_meta"]` and `meta["type"]` of every node."""

    def run_node(self, n):
        result = super().run_node(n)
        seen = []

        def meta(value):
            if isinstance(value, torch.Tensor):
                seen.append(value)
                return _extract_tensor_metadata(value)
            return value

        found = map_aggregate(result, meta)
        if seen:
            n.meta["tensor_meta"] = found
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the graph on arguments."""
        return super().run(*args)
