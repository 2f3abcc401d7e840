"""Changes of many nodes at once, and what nodes take."""

from typing import NamedTuple

from torch.fx.graph import Graph
from torch.fx.node import map_arg
from torch.fx.passes.shape_prop import ShapeProp

__all__ = ["replace_target_nodes_with", "size_bytes", "get_size_of_all_nodes", "get_tensor_meta", "get_size_of_node"]


def replace_target_nodes_with(fx_module, old_op, old_target, new_op, new_target):
    """Lets every node with an op and a target have others."""
    graph, made = Graph(), {}
    for node in fx_module.graph.nodes:
        if (node.op, node.target) == (old_op, old_target):
            args, kwargs = map_arg(node.args, made.__getitem__), map_arg(node.kwargs, made.__getitem__)
            made[node] = graph.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            made[node] = graph.node_copy(node, made.__getitem__)
    fx_module.graph = graph


class size_bytes(NamedTuple):
    """The bytes of what a node gives, and those with its module's parameters."""

    output_size: int
    total_size: int


def get_tensor_meta(node):
    """What `ShapeProp` found of a node."""
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run.")
    return meta


def get_size_of_node(fx_module, node):
    """The bytes of a node."""
    meta = get_tensor_meta(node)
    item = meta.dtype.itemsize
    output = meta.shape.numel() * item
    of_module = 0
    if node.op == "call_module":
        module = dict(fx_module.named_modules())[node.target]
        of_module = sum(t.numel() * t.element_size() for _, t in [*module.named_parameters(), *module.named_buffers()])
    return size_bytes(output, output + of_module)


def get_size_of_all_nodes(fx_module, args=None):
    """Puts their bytes on nodes (`size_bytes`), once shapes are known for these arguments."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)
