"""Questions about the nodes of a joint graph: what kind of input one is, which part it belongs to, how large its value is."""

import logging
from collections import Counter

import torch
from torch import SymBool, SymFloat, SymInt
from torch._functorch._operator_classes import packets
from torch.fx.experimental._backward_state import BackwardState
from torch.fx.experimental.proxy_tensor import is_sym_node
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import CheckpointPolicy

log = logging.getLogger("torch._functorch.partitioners")
# Sizes that depend on data count as this many.
_UNKNOWN_SIZE = 4096


def must_recompute(node):
    """Whether checkpointing asks to recompute a node."""
    return node.meta.get("recompute") in (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


def get_schema_arg_idx(target, arg_name):
    """The position of an operator's argument."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    return next((i for i, argument in enumerate(target._schema.arguments) if argument.name == arg_name), None)


def is_nonzero_dropout_sdpa(node):
    """Whether attention may drop something."""
    position = get_schema_arg_idx(node.target, "dropout_p")
    if position is None:
        return True
    default = node.target._schema.arguments[position].default_value
    dropout = node.args[position] if len(node.args) > position else node.kwargs.get("dropout_p", default)
    return not (isinstance(dropout, (int, float)) and dropout == 0)


def is_rng_op(node):
    """Whether a node may draw random numbers."""
    if getattr(node.target, "overloadpacket", None) not in packets("seeded"):
        return False
    return get_schema_arg_idx(node.target, "dropout_p") is None or is_nonzero_dropout_sdpa(node)


def has_recomputable_ops(fx_g):
    return any(map(must_recompute, fx_g.graph.nodes))


def has_recomputable_rng_ops(fx_g):
    return any(must_recompute(node) and is_rng_op(node) for node in fx_g.graph.nodes)


def sym_node_size(node):
    """What saving a symbolic number counts as."""
    value = node.meta["val"]
    if isinstance(value, (SymInt, SymBool)):
        return 1
    if not isinstance(value, SymFloat):
        raise AssertionError(f"expected node.meta['val'] to be SymFloat, got {type(value)}")
    return 4


def _is_assert_only_symbool(node):
    asserted = torch.ops.aten._assert_scalar.default
    return isinstance(node.meta.get("val"), SymBool) and bool(node.users) and all(user.target is asserted for user in node.users)


def _is_input(node, *words):
    return node.op == "placeholder" and any(word in str(node.target) for word in words)


def _is_tangent(node):
    return _is_input(node, "tangents")


def _is_bwd_seed_offset(node):
    return _is_input(node, "bwd_seed", "bwd_base_offset")


def _is_fwd_seed_offset(node):
    return _is_input(node, "fwd_seed", "fwd_base_offset")


def _is_primal(node):
    return node.op == "placeholder" and not (_is_tangent(node) or _is_bwd_seed_offset(node) or _is_fwd_seed_offset(node))


def _is_backward_state(node):
    return node.op == "placeholder" and isinstance(node.meta.get("val"), BackwardState)


def _has_tag_is_backward(node):
    return node.meta.get("partitioner_tag") == "is_backward"


def _has_tag_is_forward(node):
    return node.meta.get("partitioner_tag") == "is_forward"


def _has_tag_must_be_in_forward(node):
    return node.meta.get("partitioner_tag") == "must_be_in_forward"


def _has_tag_must_be_in_backward(node):
    return node.meta.get("partitioner_tag") == "must_be_in_backward"


def is_mutable(node):
    """Whether a node's operator writes to an argument."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _must_be_in_forward(node):
    if _has_tag_must_be_in_forward(node):
        return True
    return not _has_tag_is_backward(node) and not _has_tag_must_be_in_backward(node) and is_mutable(node)


def _must_be_in_backward(node):
    return _has_tag_must_be_in_backward(node) or _has_tag_is_backward(node) and is_mutable(node)


def _extract_fwd_bwd_outputs(joint_module, *, num_fwd_outputs):
    """What forward and backward return, and what each of that is."""
    output = joint_module.graph.output_node()
    outputs = tree_leaves(output.args)
    descriptors = tree_leaves(output.meta.get("desc", [None] * len(outputs)))
    parts = slice(num_fwd_outputs), slice(num_fwd_outputs, None)
    return tuple([values[part] for values in (outputs, descriptors) for part in parts])


def find_first_sym_node(fwd_module_outputs):
    """The position behind the last output that is no symbolic number."""
    return max((i + 1 for i, node in enumerate(fwd_module_outputs) if not is_sym_node(node)), default=len(fwd_module_outputs))


def get_name_to_node(graph):
    return {node.name: node for node in graph.nodes}


def _tensor_nbytes(numel, dtype):
    return numel * dtype.itemsize


def _hint(size):
    if not isinstance(size, SymInt):
        return size
    return size.node.hint if size.node.hint is not None else _UNKNOWN_SIZE


def _size_of(node):
    """Bytes of a node's value at the hinted sizes; a symbolic number counts as one."""

    def nbytes(value):
        return _tensor_nbytes(_hint(value.numel()), value.dtype) if isinstance(value, torch.Tensor) else 0

    if "val" in node.meta:
        value = node.meta["val"]
        if isinstance(value, (SymInt, SymFloat, SymBool)):
            return 1
        if isinstance(value, (list, tuple)):
            return sum(map(nbytes, value))
        if isinstance(value, dict):
            return sum(map(nbytes, value.values()))
        if isinstance(value, torch.Tensor):
            return nbytes(value)
        if isinstance(value, torch.device):
            return 0
        raise RuntimeError(f"Unknown metadata type {type(value)} on node {node}")
    if node.op == "get_attr" or isinstance(node.target, torch._ops.OpOverload) and not node.target._schema.returns:
        return 0
    raise RuntimeError(f"Node {node} didn't have `val` metadata; we should always have `val` metadata on the nodes.")


def _count_ops(graph):
    """Logs how often each function is called."""
    log.info("%s", Counter(node.target.__name__ for node in graph.nodes if node.op == "call_function").most_common())


def sort_depths(args, depth_map):
    """The nodes among arguments with their depths, the deepest first."""
    depths = {arg: depth_map[arg] for arg in args if isinstance(arg, torch.fx.Node)}
    return sorted(depths.items(), key=lambda item: item[1], reverse=True)
