"""Which nodes somebody can take: what partitioners ask."""

import abc

import torch
from torch.fx.passes.shape_prop import TensorMetadata
from torch.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OperatorSupportBase", "OperatorSupport", "create_op_support", "chain", "OpSupports", "any_chain"]


class OperatorSupportBase(abc.ABC):
    """Says of nodes whether they are supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        """Whether a node is; `submodules` are the module's by their paths."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """By a table: targets, with the dtypes that arguments may have, or None for any."""

    def __init__(self, support_dict=None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules, node):
        called = get_node_target(submodules, node) if node.op in CALLABLE_NODE_OPS else None
        allowed = self._support_dict.get(called, False) if called is not None else None
        if not allowed:
            # Nothing is said of its arguments, or it is no call; or it is none of those.
            return allowed is None
        positional, named = allowed
        given = [*zip(node.args, positional), *((node.kwargs[name], dtypes) for name, dtypes in named.items() if name in node.kwargs)]
        return all(dtypes is None or not isinstance(arg, torch.fx.Node) or _dtype(arg) in dtypes for arg, dtypes in given)


def create_op_support(is_node_supported):
    """A function as an `OperatorSupportBase`."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules, node):
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support):
    """What all of some support."""
    return create_op_support(lambda submodules, node: all(one.is_node_supported(submodules, node) for one in op_support))


def any_chain(*op_support):
    """What any of some supports."""
    return create_op_support(lambda submodules, node: any(one.is_node_supported(submodules, node) for one in op_support))


class OpSupports:
    """Reasons to decline a node."""

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """An input has this dtype."""
        return create_op_support(lambda _, node: all(_dtype(arg) != dtype for arg in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """It is called like this."""
        return create_op_support(lambda _, node: node.name not in disallow_set)


def _dtype(node):
    meta = node.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else node.meta["type"]
