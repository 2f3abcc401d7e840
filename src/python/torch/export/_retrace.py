"""A program that was in a file as the compiler's graph, so that it is taken apart like one that was traced."""

import operator
import re

import torch
from torch import _native_aot
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule

from ._grad_mode import wrap_with_set_grad_enabled
from .graph_signature import MUTATIONS

_TOLD = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn", "custom")


def compiled_graph(program):
    """The program's graph as the compiler has it: without inputs that are part of the program, regions with another grad mode in place."""
    graph, values = Graph(), {}
    module, inputs = program.graph_module, program._inputs
    specs = program.graph_signature.input_specs
    # The compiler's graph takes parameters, buffers and constants in this order.
    order = {target: i for i, target in enumerate([*inputs.state, *inputs.constants])}
    names = {spec.arg.name: order.get(spec.target, len(order)) for spec in specs}
    placeholders = sorted(program.graph.find_nodes(op="placeholder"), key=lambda node: names[node.name])
    checks = _range_checks(program.graph)
    for node in [*placeholders, *(node for node in program.graph.nodes if node.op != "placeholder")]:
        if node.op == "placeholder" and not isinstance(node.meta["val"], torch.Tensor) and type(node.meta["val"]) is not torch.SymInt:
            if node.users:
                raise NotImplementedError(f"the input {node.name} of a program in a file, a number that its graph reads, is not available in the playground")
        elif node in checks:
            continue
        elif node.target is torch.ops.aten._assert_scalar.default:
            said = re.fullmatch(r"Runtime assertion failed for expression (.*) on node '\w+'", node.args[1])
            made = values[node] = _copied(graph, node, values)
            made.args = (made.args[0], said[1] if said else node.args[1])
        elif node.op == "call_function" and node.target is wrap_with_set_grad_enabled:
            values[node] = _inlined(graph, getattr(module, node.args[1].target), node, values)
        elif node.target is operator.getitem and isinstance(values[node.args[0]], tuple):
            values[node] = values[node.args[0]][node.args[1]]
        elif node.op == "output":
            graph.output(tuple(values.get(value, value) if isinstance(value, torch.fx.Node) else value for value in _outputs(program, order)))
        elif not (node.op == "get_attr" and all(user.target is wrap_with_set_grad_enabled for user in node.users)):
            values[node] = _copied(graph, node, values)
    return _native_aot._graph_of(GraphModule(dict(module.named_children()), graph, "GraphModule"))


def _range_checks(graph):
    """The checks of ranges of numbers that only a run knows, with their conditions: ranges are checked once more where they are read off."""
    found = set()
    for check in graph.find_nodes(op="call_function", target=torch.ops.aten._assert_scalar.default):
        condition = check.args[0]
        sides = condition.args if isinstance(condition, torch.fx.Node) else ()
        if [isinstance(side, int) for side in sides] == [False, True] and re.fullmatch(r"u\d+", str(sides[0].meta["val"])):
            found.update((check, condition) if len(condition.users) == 1 else (check,))
    return found


def _outputs(program, order):
    """What the program gives, new values of inputs in the order of the inputs."""
    outputs, specs = program.graph.output_node().args[0], program.graph_signature.output_specs
    count = sum(spec.kind in MUTATIONS for spec in specs)
    new = sorted(zip(specs[:count], outputs), key=lambda one: order.get(one[0].target, len(order)))
    return [*(value for _, value in new), *outputs[count:]]


def _copied(graph, node, values):
    made = graph.node_copy(node, values.__getitem__)
    made.name = node.name
    return made


def _inlined(graph, body, call, values):
    """A region in place of its call: its values."""
    enabled, _, *given = call.args
    inner = dict(zip(body.graph.find_nodes(op="placeholder"), (values[arg] for arg in given)))
    graph.call_function(torch._C._set_grad_enabled, (enabled,))
    for node in body.graph.nodes:
        if node.op == "output":
            found = node.args[0]
        elif node.op != "placeholder":
            inner[node] = _copied(graph, node, inner)
    graph.call_function(torch._C._set_grad_enabled, (not enabled,))
    return tuple(inner[node] for node in found) if isinstance(found, (tuple, list)) else inner[found]


def tell_places(program, graph):
    """Says of the nodes of a graph that a program became where they come from."""
    known = {node.name: node for node in program.graph.nodes}
    for part in program.graph_module.children():
        known = {**{node.name: node for node in getattr(part, "graph", Graph()).nodes}, **known}
    for node in graph.nodes:
        of = known.get(node._from_node)
        if of is not None and node.op == "call_function":
            node.meta.update({key: of.meta[key] for key in _TOLD if key in of.meta})
        elif node.op == "call_function" and not node.meta.get("stack_trace") and node._input_nodes:
            # A check is where the number is that it checks.
            first = next(iter(node._input_nodes)).meta
            node.meta.update({key: first[key] for key in _TOLD if key in first})


__all__ = ["compiled_graph", "tell_places"]
