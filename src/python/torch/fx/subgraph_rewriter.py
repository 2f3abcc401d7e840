"""Finds a pattern in a graph and puts another in its place."""

from collections import namedtuple
from dataclasses import dataclass, field

import torch
from torch.fx._symbolic_trace import symbolic_trace
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule, _copy_attribute
from torch.fx.node import Node, map_arg

__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]

Match = namedtuple("Match", ["anchor", "nodes_map"])
Match.__doc__ = "A place where a pattern stands: the last node of the pattern, and which nodes are which."


@dataclass
class ReplacedPatterns:
    """A place where a pattern stood, and the nodes that stand there now."""

    anchor: Node
    nodes_map: dict = field(default_factory=dict)
    replacements: list = field(default_factory=list)


def _graph_of(pattern):
    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


def _has(module, path):
    for name in path.split("."):
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
    return True


def _replace_attributes(gm, replacement):
    """Gives a module what the graph reads of another, and takes away what nothing reads."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _has(gm, node.target):
            continue
        if not _has(replacement, node.target):
            raise RuntimeError(
                'Attempted to create a "', node.op, '" node during subgraph rewriting '
                f"with target {node.target}, but the referenced attribute does not exist in the replacement GraphModule",
            )  # fmt: skip
        _copy_attribute(replacement, gm, node.target)
    gm.graph.lint()


def _insertion_point(graph, returned):
    """The first node that reads what a place returns; where none does, the one behind it."""
    readers = {user for node in returned for user in node.users}
    nodes = list(graph.nodes)
    found = next((node for node in nodes if node in readers), None)
    if found is None:
        last = max(i for i, node in enumerate(nodes) if node in returned)
        found = nodes[last + 1] if last + 1 < len(nodes) else None
    if found is None:
        raise AssertionError("The insert point can't be None")
    return found


def _replace(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match):
    from torch.fx.passes.utils.matcher_utils import SubgraphMatcher

    graph, wanted = gm.graph, _graph_of(pattern)
    matches = SubgraphMatcher(wanted, ignore_literals=ignore_literals).match(graph, node_name_match=node_name_match)
    matches = [match for match in matches if all(keeps(match, graph, wanted) for keeps in match_filters or ())]
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    instead = None if replacement is None else _graph_of(replacement)
    became, found = {}, []
    inputs = [node for node in wanted.nodes if node.op == "placeholder"]
    for match in matches:
        new = instead if replacement_callback is None else replacement_callback(match, graph, wanted)
        places = [node for node in new.nodes if node.op == "placeholder"]
        if len(match.placeholder_nodes) != len(places):
            raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(places)}")
        values = {}
        for i, (place, given) in enumerate(zip(places, match.placeholder_nodes)):
            values[place] = match.placeholder_nodes[i] = match.nodes_map[inputs[i]] = map_arg(given, lambda node: became.get(node, node))
        with graph.inserting_before(_insertion_point(graph, match.returning_nodes)):
            returned = graph.graph_copy(new, values)
        returned = (returned,) if isinstance(returned, Node) else returned
        made = [value for value in values.values() if isinstance(value, Node) and value not in match.placeholder_nodes]
        if len(match.returning_nodes) != len(returned):
            raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(returned)}")
        for old, value in zip(match.returning_nodes, returned):
            old.replace_all_uses_with(value)
            became[old] = value
        for node in reversed(wanted.nodes):
            if node.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[node])
        found.append(ReplacedPatterns(match.anchors[0], match.nodes_map, made))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _replace_attributes(gm, replacement)
    return found


def replace_pattern(gm, pattern, replacement):
    """Replaces every place in `gm` where the pattern stands; returns the matches."""
    return [Match(one.anchor, one.nodes_map) for one in _replace(gm, pattern, replacement, None, False, None, "")]


def replace_pattern_with_filters(
    gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None, node_name_match=""
):  # fmt: skip
    """Replaces the places that every filter lets through, by one graph or by what a function makes for each."""
    return _replace(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match)
