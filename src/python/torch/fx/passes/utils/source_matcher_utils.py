"""Which nodes came of which function or module of the script."""

from dataclasses import dataclass, field

from torch.fx.node import Node

__all__ = ["get_source_partitions", "check_subgraphs_connected", "SourcePartition"]


@dataclass
class SourcePartition:
    """The nodes of one call of a function or a module; what they read, what of them is read elsewhere, and their parameters."""

    nodes: list
    source: object
    input_nodes: list = field(default_factory=list)
    output_nodes: list = field(default_factory=list)
    params: list = field(default_factory=list)


def _source(node, wanted):
    """The source of a node among those that are wanted, and which call of it."""
    stack = node.meta.get("source_fn_stack")
    if stack is not None:
        name, source = stack[-1]
        return (source, name) if source in wanted else None
    told = node.meta.get("torch_fn")
    if told is not None and told[1].split(".")[1] in wanted:
        return told[1].split(".")[1], told[0]
    modules = node.meta.get("nn_module_stack") if node.op == "call_function" else None
    if not modules:
        return None
    path, cls = list(modules.values())[-1]
    for source in wanted:
        if isinstance(source, type):
            name = f"{source.__module__}.{source.__qualname__}"
            if isinstance(cls, type) and issubclass(cls, source) or cls == name:
                return source, path
        elif cls == source:
            return source, path
    return None


def _partition(nodes, source):
    read, given, params = set(), set(), set()
    for node in nodes:
        read.update(arg for arg in node.args if isinstance(arg, Node) and arg not in nodes and arg.op != "get_attr")
        if node.op == "get_attr":
            params.add(node)
        elif any(user not in nodes for user in node.users):
            given.add(node)
    return SourcePartition(nodes, source, sorted(read), sorted(given), sorted(params))


def get_source_partitions(graph, wanted_sources, filter_fn=None):
    """By source (a function, or a class of modules), the nodes of each call of it."""
    found = {}
    for node in graph.nodes:
        told = _source(node, wanted_sources)
        if told is not None:
            found.setdefault(told[0], {}).setdefault(told[1], []).append(node)
    if filter_fn is not None:
        found = {source: {name: nodes for name, nodes in calls.items() if all(map(filter_fn, nodes))} for source, calls in found.items()}
    return {source: [_partition(nodes, source) for nodes in calls.values()] for source, calls in found.items()}


def check_subgraphs_connected(subgraph1, subgraph2):
    """Whether a node of the second reads one of the first."""
    return any(user in subgraph2.nodes for node in subgraph1.nodes for user in node.users)
