"""Graphs of operators cleaned up: equal calls merged, overloads stripped, results taken apart early."""

import operator
import re
import struct

import torch
from torch._functorch._operator_classes import packets, storage_owner
from torch.fx.graph import Graph
from torch.fx.node import Node
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten
rand_ops = [packet for packet in packets("never_merged") if packet is not aten.empty]

_WRITES = re.compile(r"(?<!_)(_$|_[.]|(\b|_)(set|enter|exit|seed)(\b|_))(?!_)")


def get_aten_target(node):
    """What a node calls, whatever the overload."""
    return getattr(node.target, "overloadpacket", node.target)


def _writes(node):
    """Whether equal calls before and after a node may give different values."""
    if node.op == "call_function":
        if getattr(getattr(node.target, "_schema", None), "is_mutable", False):
            return True
        if _WRITES.search(node.target.__name__):
            return True
    elif node.op == "call_method" and _WRITES.search(node.target):
        return True
    return node.kwargs.get("out") is not None


def _key(value):
    """An argument so that two are equal exactly where they are the same, type and bits included."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(map(_key, value))
    if isinstance(value, dict):
        return "dict", tuple((name, _key(item)) for name, item in value.items())
    if isinstance(value, slice):
        return "slice", _key(value.start), _key(value.stop), _key(value.step)
    if isinstance(value, float):
        return "float", struct.pack("d", value)
    if isinstance(value, complex):
        return "complex", struct.pack("dd", value.real, value.imag)
    if isinstance(value, Node):
        return value
    return type(value), value


def _python_hash(value):
    """What Python hashes of an argument's leaves: calls of one hash share one place, which the first of them keeps."""
    leaves = tree_leaves(value)
    return tuple(("float", struct.pack("d", leaf)) if isinstance(leaf, float) else (type(leaf), leaf if isinstance(leaf, Node) else hash(leaf)) for leaf in leaves)


def fx_graph_cse(fx_g, extra_node_key=None):
    """A copy of a graph in which equal calls are one. Random calls, writes and what shares an output's storage stay apart, and so do
    calls for which `extra_node_key` gives other keys."""
    *_, output = fx_g.nodes
    if output.op != "output":
        raise AssertionError(f"expected output_node.op to be 'output', got '{output.op}'")
    is_tensor = lambda node: isinstance(node.meta.get("val"), torch.Tensor)
    returned = {storage_owner(node) for node in output.all_input_nodes if is_tensor(node)}
    new_graph, now, places, region = Graph(), {}, {}, 0
    for node in fx_g.nodes:
        region += _writes(node)
        stays = (
            node.op in ("placeholder", "output", "get_attr")
            or node.is_impure()
            or get_aten_target(node) in rand_ops
            or get_aten_target(node) is aten.empty
            or is_tensor(node)
            and storage_owner(node) in returned
        )
        if stays:
            now[node] = new_graph.node_copy(node, lambda n: now[n])
            continue
        swapped = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: now[n])
        extra = extra_node_key(node) if extra_node_key is not None else None
        place = node.target, extra, _python_hash(swapped)
        token = _key(swapped), node.meta.get("custom", {}).get("stream", 0)
        earlier = places.get(place)
        if earlier is not None and earlier[0] == token and earlier[1] == region:
            now[node] = earlier[2]
            continue
        now[node] = new_graph.node_copy(node, lambda n: now[n])
        if earlier is None or earlier[0] == token:
            places[place] = token, region, now[node]
    return new_graph


def raise_getitems(gm):
    """Moves every `getitem` right behind the call that it takes a result of."""
    for node in reversed(gm.graph.find_nodes(op="call_function", target=operator.getitem)):
        if len(node.all_input_nodes) != 1:
            raise AssertionError(f"expected node {node.name} to have 1 input node, got {len(node.all_input_nodes)}")
        node.all_input_nodes[0].append(node)
    gm.recompile()
    return gm


def strip_overloads(gm):
    """Lets a module's nodes call packets in the place of overloads."""
    for node in gm.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            node.target = node.target.overloadpacket
    gm.recompile()


def get_placeholders(graph):
    return graph.find_nodes(op="placeholder")


def get_outputs(graph):
    """What a graph returns, flat."""
    for node in graph.find_nodes(op="output"):
        return tree_leaves(node.args[0])
    raise AssertionError("No output node found")
