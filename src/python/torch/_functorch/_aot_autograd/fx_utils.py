"""Finds nodes of a joint graph by what they are: inputs with their gradients, outputs with their tangents."""

from torch._functorch._aot_autograd.descriptors import (
    BufferAOTInput,
    DifferentiableAOTInput,
    DifferentiableAOTOutput,
    GradAOTOutput,
    ParamAOTInput,
    PlainAOTInput,
    PlainAOTOutput,
    TangentAOTInput,
)


def _inputs(graph):
    return [(node.meta["desc"], node) for node in graph.find_nodes(op="placeholder")]


def _outputs(graph):
    output = graph.output_node()
    return list(zip(output.meta["desc"], output.args[0]))


def get_all_input_and_grad_nodes(g):
    """Every input that may have a gradient: its node, and the gradient's, None where it has none."""
    grads = {what.grad_of: node for what, node in _outputs(g) if isinstance(what, GradAOTOutput)}
    return {what: (node, grads.get(what)) for what, node in _inputs(g) if isinstance(what, DifferentiableAOTInput)}


def get_all_output_and_tangent_nodes(g):
    """Every output that may have a tangent: its node, and the tangent's, None where it has none."""
    tangents = {what.output: node for what, node in _inputs(g) if isinstance(what, TangentAOTInput)}
    return {what: (node, tangents.get(what)) for what, node in _outputs(g) if isinstance(what, DifferentiableAOTOutput)}


def get_param_and_grad_nodes(graph):
    """Parameters and their gradients."""
    return {what: pair for what, pair in get_all_input_and_grad_nodes(graph).items() if isinstance(what, ParamAOTInput)}


def get_plain_input_and_grad_nodes(graph):
    """Arguments and their gradients."""
    return {what: pair for what, pair in get_all_input_and_grad_nodes(graph).items() if isinstance(what, PlainAOTInput)}


def get_plain_output_and_tangent_nodes(graph):
    """Results and their tangents."""
    return {what: pair for what, pair in get_all_output_and_tangent_nodes(graph).items() if isinstance(what, PlainAOTOutput)}


def get_named_param_nodes(graph):
    """Parameters by their paths."""
    return {what.target: node for what, node in _inputs(graph) if isinstance(what, ParamAOTInput)}


def get_named_buffer_nodes(graph):
    """Buffers by their paths."""
    return {what.target: node for what, node in _inputs(graph) if isinstance(what, BufferAOTInput)}


def get_param_nodes(graph):
    """Parameters, in order."""
    return list(get_named_param_nodes(graph).values())


def get_buffer_nodes(graph):
    """Buffers, in order."""
    return list(get_named_buffer_nodes(graph).values())
