"""Finds a pattern in a graph and puts another in its place."""

from collections import namedtuple

from torch.fx._symbolic_trace import symbolic_trace
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node, map_arg

Match = namedtuple("Match", ["anchor", "nodes_map"])


def _graph_of(pattern):
    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


def _same(wanted, found, matched):
    """Whether an argument of the pattern matches one of the graph; what stands for what goes into `matched`."""
    if isinstance(wanted, Node):
        return isinstance(found, Node) and _match(wanted, found, matched) if wanted.op != "placeholder" else _bind(wanted, found, matched)
    if isinstance(wanted, (list, tuple)):
        return isinstance(found, (list, tuple)) and len(wanted) == len(found) and all(map(lambda a, b: _same(a, b, matched), wanted, found))
    if isinstance(wanted, dict):
        return isinstance(found, dict) and wanted.keys() == found.keys() and all(_same(wanted[k], found[k], matched) for k in wanted)
    return type(wanted) is type(found) and wanted == found


def _bind(wanted, found, matched):
    if wanted in matched:
        return matched[wanted] is found
    matched[wanted] = found
    return True


def _match(wanted, found, matched):
    if wanted in matched:
        return matched[wanted] is found
    if (wanted.op, wanted.target) != (found.op, found.target):
        return False
    matched[wanted] = found
    return _same(wanted.args, found.args, matched) and _same(wanted.kwargs, found.kwargs, matched)


def _matches(graph, pattern):
    """Places where the pattern stands: its results may be read outside, what is between may not."""
    returned = next(iter(reversed(pattern.nodes))).args[0]
    last = returned if isinstance(returned, Node) else next(n for n in reversed(pattern.nodes) if n.op != "output")
    results = set()
    map_arg(returned, results.add)
    taken = set()
    for node in graph.nodes:
        matched = {}
        if not _match(last, node, matched):
            continue
        inner = {found: wanted for wanted, found in matched.items() if wanted.op != "placeholder"}
        free = all(user in inner for found, wanted in inner.items() if wanted not in results for user in found.users)
        if free and taken.isdisjoint(inner) and all(r in matched for r in results):
            taken.update(inner)
            yield node, Match(last, matched)


def replace_pattern(gm, pattern, replacement):
    """Replaces every place in `gm` where the pattern stands; returns the matches."""
    wanted, instead = _graph_of(pattern), _graph_of(replacement)
    found = list(_matches(gm.graph, wanted))
    inputs = [n for n in wanted.nodes if n.op == "placeholder"]
    became = {}
    for at, match in found:
        values = {new: match.nodes_map.get(old) for old, new in zip(inputs, (n for n in instead.nodes if n.op == "placeholder"))}
        values = {new: became.get(old, old) for new, old in values.items()}
        with gm.graph.inserting_before(at):
            result = gm.graph.graph_copy(instead, values)
        old_results, new_results = [], []
        map_arg(next(iter(reversed(wanted.nodes))).args[0], old_results.append)
        map_arg(result, new_results.append)
        for old, new in zip(old_results, new_results):
            match.nodes_map[old].replace_all_uses_with(new)
            became[match.nodes_map[old]] = new
        for old in reversed(wanted.nodes):
            node = match.nodes_map.get(old)
            if old.op not in ("placeholder", "output") and node is not None and not node.users:
                gm.graph.erase_node(node)
    gm.recompile()
    return [match for _, match in found]
