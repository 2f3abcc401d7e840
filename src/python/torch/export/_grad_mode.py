"""Regions of a program that run with gradients switched otherwise than around it: each becomes a graph of its own, called by
`wrap_with_set_grad_enabled`.

The program is cut where the switch is set. Names follow from that: a part is `submod_0`, `submod_1`, ..., where it gives several values
they are unpacked around it, and only then are the parts that need no switch put back.
"""

from operator import getitem as _operator_getitem

import torch
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule

_NAME = "wrap_with_set_grad_enabled"


class _WrapWithSetGradEnabled:
    __module__, __name__ = "torch.ops.higher_order", _NAME

    def __call__(self, enabled, part, *args):
        with torch.set_grad_enabled(enabled):
            return part(*args)

    def __repr__(self):
        return _NAME


wrap_with_set_grad_enabled = _WrapWithSetGradEnabled()


def _is_switch(node):
    return node.op == "call_function" and getattr(node.target, "__name__", "") == "_set_grad_enabled"


def extract_regions(graph):
    """Takes the regions out of a graph; gives their modules by name."""
    calls = [node for node in graph.nodes if node.op not in ("placeholder", "output")]
    if not any(map(_is_switch, calls)):
        return {}
    parts, modes = [[]], [None]
    for node in calls:
        if _is_switch(node):
            parts.append([])
            modes.append(node.args[0])
        else:
            parts[-1].append(node)
    ambient = not modes[1]
    given = [_given(graph, part) for part in parts]
    unpacked = sum(len(values) for values in given if len(values) > 1)
    names = iter(range(unpacked, 1 << 31))
    count = len([part for i, part in enumerate(parts) if part or i])
    numbers = iter(range(count if parts[0] else count + 1, 1 << 31))
    found = {}
    for i, part in enumerate(parts):
        # Graphs that a part calls stand before its switch once it is split off: that is not found then.
        calls_graphs = any(used.op == "get_attr" for node in part for used in (node, *node._input_nodes))
        if modes[i] in (None, ambient) or not part or calls_graphs:
            for node in part:
                if getattr(node.target, "__name__", "") == "getitem":
                    node.name = _getitem(next(names))
            continue
        found[f"submod_{i}"] = _extract(graph, part, given[i], modes[i], f"submod_{i}", f"submod_{next(numbers)}", names)
    # Splitting reads what belongs to the whole before the first part.
    for node in calls:
        if node.op == "get_attr":
            calls[0].prepend(node)
    for node in filter(_is_switch, calls):
        graph.erase_node(node)
    return found


def _getitem(number):
    return f"getitem_{number}" if number else "getitem"


def _given(graph, part):
    """The values of a part that are read behind it, those that are read first ahead."""
    own, found = set(part), {}
    for node in graph.nodes:
        if node not in own:
            found.update((used, None) for used in node._input_nodes if used in own)
    return list(found)


def _extract(graph, part, given, mode, name, attribute, names):
    """Moves a part into a graph of its own, which is called in its place."""
    own, read = set(part), {}
    for node in part:
        read.update((used, None) for used in node._input_nodes if used not in own)
    inner, values = Graph(), {}
    for used in read:
        values[used] = inner.placeholder(used.name)
        values[used].name, values[used].meta, values[used]._written = used.name, dict(used.meta), used._written
    for node in part:
        values[node] = inner.node_copy(node, lambda n: values[n])
        values[node].name = node.name
    inner.output(tuple(values[node] for node in given))
    with graph.inserting_before(part[0]):
        body = graph.create_node("get_attr", name)
        body.name = attribute
        call = graph.call_function(wrap_with_set_grad_enabled, (mode, body, *read))
        call.name = given[0].name if len(given) == 1 else _NAME
        call.meta["val"] = tuple(node.meta.get("val") for node in given)
        stacks = [list(node.meta["nn_module_stack"].items()) for node in part if "nn_module_stack" in node.meta]
        if stacks:
            # The modules that all of it is in.
            shared = [each[0] for each in zip(*stacks) if all(other == each[0] for other in each)]
            call.meta["nn_module_stack"] = body.meta["nn_module_stack"] = dict(shared)
        for i, node in enumerate(given):
            item = graph.call_function(_operator_getitem, (call, i))
            item.name = _getitem(next(names)) if len(given) == 1 else node.name
            item.meta, item._written = dict(node.meta), node._written
            for user in [user for user in node.users if user not in own]:
                user.replace_input_with(node, item)
    for node in reversed(part):
        graph.erase_node(node)
    return GraphModule({}, inner, name)


def name_inputs(graph, regions):
    """Gives the inputs of regions the names that the values they are given have by now."""
    for call in graph.find_nodes(op="call_function", target=wrap_with_set_grad_enabled):
        region = regions[call.args[1].target]
        for inner, outer in zip(region.graph.find_nodes(op="placeholder"), call.args[2:]):
            inner.name = inner.target = outer.name
        region.recompile()
