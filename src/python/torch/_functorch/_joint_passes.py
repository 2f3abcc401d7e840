"""What is done to a joint graph before it is split, and to its backward after: marks of checkpoints, the order of calls."""

import operator

import torch
from torch._functorch import _joint_nodes as nodes
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.utils.checkpoint import CheckpointPolicy


def is_getitem_of_multi_output(node):
    """Whether a node takes a result of a call that has several."""
    if node.target != operator.getitem:
        return False
    parent = node.args[0]
    if type(parent) is not torch.fx.Node:
        raise AssertionError(f"expected parent to be fx.Node, got {type(parent)}")
    return "tensor_meta" not in parent.meta and node.op == "call_function"


def _saves(node, is_default_partition):
    """Whether a value at the border of a checkpointed region is saved after all."""
    readers = [user for user in node.users if nodes.must_recompute(user)]
    region = node.meta.get("ac_graph_id")
    if nodes.must_recompute(node):
        is_left = region is not None and any(user.meta.get("ac_graph_id", region) > region for user in readers)
        return is_left or node.meta.get("has_backward_hook", False) and not readers
    if not is_default_partition or "ac_graph_id" in node.meta or not readers:
        return False
    return not (is_getitem_of_multi_output(node) and "ac_graph_id" in node.args[0].meta)


def cleanup_recompute_tags(joint_module, *, is_default_partition):
    """Saves the values at the border of two checkpointed regions that follow each other; for the default partitioner also the inputs of
    a region."""
    for node in joint_module.graph.nodes:
        if _saves(node, is_default_partition):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    return joint_module


def force_save_collectives(joint_module):
    """Saves what collectives give. There are none here: a graph that calls one is refused."""
    for node in joint_module.graph.nodes:
        if str(node.target).startswith("_c10d_functional."):
            raise NotImplementedError(f"{node.target}: collectives are not available in the playground")


def force_save_effectful_ops(joint_module):
    """Saves what calls with an effect give."""

    def save_results(node):
        for user in node.users:
            if user.target is operator.getitem:
                save_results(user)
                if not isinstance(user.meta.get("val"), (tuple, list)):
                    user.meta["recompute"] = CheckpointPolicy.MUST_SAVE

    for node in joint_module.graph.nodes:
        if getattr(node.target, "__name__", "") != "with_effects" or nodes._has_tag_is_backward(node):
            continue
        if node.meta.get("recompute") == CheckpointPolicy.MUST_RECOMPUTE:
            raise RuntimeError(
                "AOTAutograd does not support MUST_RECOMPUTE for effectful operations because forward effects cannot join the backward "
                "effect-token chain."
            )
        save_results(node)


def force_save_bw_mutation_src(joint_module):
    """Where forward and backward write to the same input, what the forward writes is saved: recomputing it would read the input after
    the write."""
    written = set()
    for node in reversed(joint_module.graph.nodes):
        if node.op == "output":
            continue
        if node.target is not torch.ops.aten.copy_.default:
            break
        base, value = node.args[:2]
        if nodes._must_be_in_backward(node):
            written.add(base)
        elif nodes._must_be_in_forward(node) and base in written:
            value.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def reordering_to_mimic_autograd_engine(gm):
    """A backward with what is recomputed right before its first use, so that it lives no longer than needed."""
    order = {node: i for i, node in enumerate(gm.graph.nodes)}
    users = [user for node in order if nodes._is_tangent(node) for user in node.users]
    if not users:
        return gm
    start = min(order[user] for user in users)
    new_graph, env = Graph(), {}

    def insert(node):
        found, stack = set(), [node]
        while stack:
            needed = stack.pop()
            if needed not in found and needed not in env:
                found.add(needed)
                stack += needed.all_input_nodes
        for needed in sorted(found, key=order.get):
            env[needed] = new_graph.node_copy(needed, lambda n: env[n])

    for node in gm.graph.find_nodes(op="placeholder"):
        insert(node)
    for node, position in order.items():
        is_write = node.op == "call_function" and node.target is torch.ops.aten.copy_.default
        if position >= start or is_write:
            insert(node)
    return GraphModule(gm, new_graph)
