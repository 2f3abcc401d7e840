"""Nodes of a graph as a graph of their own, called in their place."""

import copy
import heapq

import torch
from torch.fx.graph import Graph
from torch.fx.passes.tools_common import stable_topological_sort
from torch.fx.passes.utils.common import lift_subgraph_as_module

__all__ = ["erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition"]


def topo_sort(nodes):
    """Nodes in an order in which each comes behind those that it reads, and as in the graph where that leaves a choice."""
    if not nodes:
        return []
    position = {node: i for i, node in enumerate(nodes[0].graph.nodes)}
    waits = {node: sum(used in nodes for used in node.all_input_nodes) for node in nodes}
    ready, order = [(position[node], node) for node in nodes if not waits[node]], []
    heapq.heapify(ready)
    while ready:
        _, node = heapq.heappop(ready)
        order.append(node)
        for user in node.users:
            if user in waits:
                waits[user] -= 1
                if waits[user] == 0:
                    heapq.heappush(ready, (position[user], user))
    if len(nodes) != len(order):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


def validate_partition(partition):
    """Whether nodes can be one node: nothing outside of them is read by some and reads others."""
    own = set(partition)
    todo, seen = [user for node in own for user in node.users if user not in own], set()
    while todo:
        node = todo.pop()
        if node in own:
            return False
        if node not in seen:
            seen.add(node)
            todo.extend(node.users)
    return True


def fuse_as_graphmodule(gm, nodes, module_name, partition_lookup_table=None, *, always_return_tuple=False):
    """A module of some nodes, the nodes that it reads, and those of its nodes that others read."""
    known = set(gm.graph.nodes)
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
        if node not in known:
            raise AssertionError(f"{node} is not found in graph module {gm._get_name()}")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    own = dict.fromkeys(nodes) if partition_lookup_table is None else partition_lookup_table
    read = list(dict.fromkeys(used for node in nodes for used in node.all_input_nodes if used not in own))
    if read and all(node.op == "placeholder" for node in read):
        order = {node: i for i, node in enumerate(gm.graph.nodes)}
        read.sort(key=order.__getitem__)
    graph, made = Graph(), {}
    for node in read:
        made[node] = graph.placeholder(node.name, type_expr=node.type)
        made[node].meta = copy.copy(node.meta)
    for node in nodes:
        made[node] = graph.node_copy(node, made.__getitem__)
    given = [node for node in nodes if any(user not in own for user in node.users)]
    values = tuple(made[node] for node in given)
    graph.output(values if always_return_tuple or len(values) != 1 else values[0])
    graph.lint()
    fused, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return fused, tuple(read), tuple(given)


def insert_subgm(gm, sub_gm, orig_inputs, orig_outputs, insertion_point=None):
    """Calls a module in a graph, and lets those read it that read the nodes that it is made of."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    if insertion_point is None:
        insertion_point = next((node for node in reversed(gm.graph.nodes) if node in orig_outputs), None)
        if insertion_point is None:
            raise AssertionError(
                "Cannot determine insertion point: no insertion_point provided and orig_outputs is empty. Pass the last partition node as "
                "insertion_point."
            )
    with gm.graph.inserting_after(insertion_point):
        call = gm.graph.call_module(name, args=orig_inputs)
    if not orig_outputs:
        return gm
    with gm.graph.inserting_before(call.next):
        if len(orig_outputs) == 1 and not isinstance(sub_gm.graph.output_node().args[0], tuple):
            orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        else:
            for i, node in enumerate(orig_outputs):
                node.replace_all_uses_with(torch.fx.Proxy(call)[i].node, propagate_meta=True)
            call.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    return gm


def erase_nodes(gm, nodes):
    """Takes nodes out of a graph, the last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm, partitions, prefix="fused_", always_return_tuple=False):
    """Puts modules of their nodes in the place of partitions."""
    for number, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        sub_gm, read, given = fuse_as_graphmodule(gm, nodes, f"{prefix}{number}", partition, always_return_tuple=always_return_tuple)
        insert_subgm(gm, sub_gm, read, given, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
