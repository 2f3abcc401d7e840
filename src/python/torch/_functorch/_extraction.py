"""Forward and backward cut out of a joint graph: what can be computed of some inputs, as far as it is needed."""

import torch
from torch import _native_partition
from torch._functorch import _joint_nodes as nodes
from torch._functorch._aot_autograd.descriptors import SavedForBackwardsAOTOutput, SavedForBackwardsNoVcCheckAOTOutput
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node


class InvalidNodeBase:
    """What stands for a node that cannot be computed of the inputs."""

    def __repr__(self):
        return "Invalid Node"


InvalidNode = InvalidNodeBase()


def _belongs_elsewhere(node, subgraph):
    in_backward, in_forward = nodes._must_be_in_backward(node), nodes._must_be_in_forward(node)
    return in_backward and subgraph != "backward" or in_forward and subgraph != "forward"


def _output(node, env):
    """What stands for an output in the new graph. Of a write to an input that belongs to the backward, the forward returns the input."""
    if node not in env:
        raise RuntimeError(f"Node {node} couldn't be found in env")
    if env[node] is not InvalidNode:
        return env[node]
    if node.target is torch.ops.aten.copy_.default and nodes._must_be_in_backward(node) and node.args:
        base = env.get(node.args[0], InvalidNode) if isinstance(node.args[0], Node) else InvalidNode
        if base is not InvalidNode:
            return base
    raise AssertionError(f"Node {node} was invalid, but is output")


def _extract_graph_with_inputs_outputs(joint_graph, inputs, outputs, outputs_descs, subgraph=None, ignore_must_be_in_fw_bw=False):
    """A graph that takes `inputs`, any nodes of the joint graph, and returns `outputs`."""
    new_graph, env = Graph(), {}
    for node in inputs:
        env[node] = new_graph.placeholder(node.name)
        env[node].meta, env[node]._written = node.meta, node._written
    for node in joint_graph.nodes:
        if node in env or node.op == "output":
            continue
        is_elsewhere = not ignore_must_be_in_fw_bw and _belongs_elsewhere(node, subgraph)
        if is_elsewhere or node.op == "placeholder" or any(env[read] is InvalidNode for read in node.all_input_nodes):
            env[node] = InvalidNode
        else:
            env[node] = new_graph.node_copy(node, lambda n: env[n])
    values = [_output(value, env) if isinstance(value, Node) else value for value, _ in zip(outputs, outputs_descs)]
    output = new_graph.output(tuple(values))
    output.meta["desc"] = outputs_descs
    output.meta["output_stack_traces"] = [value.meta.get("stack_trace") if isinstance(value, Node) else None for value in values]
    new_graph.eliminate_dead_code()
    new_graph.lint()
    return new_graph


def _remove_by_name(saved_values, name):
    found = next((node for node in saved_values if node.name == name), None)
    if found is not None:
        saved_values.remove(found)


def _with_symbols(joint_module, saved_values, saved_sym_nodes, tangents):
    """The symbolic numbers to save, with every symbol in the sizes of what the backward takes."""
    names = [[node.name for node in of] for of in (saved_values, saved_sym_nodes, tangents)]
    by_name = nodes.get_name_to_node(joint_module.graph)
    return [by_name[name] for name in _native_partition.sym_nodes_to_save(joint_module, *names)]


def _extract_fwd_bwd_modules(
    joint_module,
    saved_values,
    saved_sym_nodes,
    saved_opaque_nodes=None,
    *,
    num_fwd_outputs,
    static_lifetime_input_nodes=None,
    ignore_must_be_in_fw_bw=False,
    omit_aot_autograd_runtime=False,
):
    """Forward and backward, given what is to be saved. The lists end up as what is saved: without what the backward does not read, and
    with every symbol that it needs."""
    if saved_opaque_nodes:
        raise NotImplementedError("_extract_fwd_bwd_modules(saved_opaque_nodes=...) is not available in the playground")
    graph = joint_module.graph
    fwd_outputs, bwd_outputs, fwd_descs, bwd_descs = nodes._extract_fwd_bwd_outputs(joint_module, num_fwd_outputs=num_fwd_outputs)
    placeholders = graph.find_nodes(op="placeholder")
    primals, fwd_seeds, bwd_seeds, states = (
        [node for node in placeholders if test(node)]
        for test in (nodes._is_primal, nodes._is_fwd_seed_offset, nodes._is_bwd_seed_offset, nodes._is_backward_state)
    )
    if static_lifetime_input_nodes is not None:
        for node in primals:
            node.meta["is_static_input"] = node in static_lifetime_input_nodes
    tangents = [] if omit_aot_autograd_runtime else [node for node in placeholders if nodes._is_tangent(node)]

    def backward(inputs):
        return _extract_graph_with_inputs_outputs(graph, inputs, bwd_outputs, bwd_descs, "backward", ignore_must_be_in_fw_bw)

    for node in backward(saved_sym_nodes + saved_values + tangents + bwd_seeds).find_nodes(op="placeholder"):
        if not node.users or nodes._is_backward_state(node):
            _remove_by_name(saved_values, node.name)
        if not node.users:
            _remove_by_name(saved_sym_nodes, node.name)
    saved_sym_nodes[:] = _with_symbols(joint_module, saved_values, saved_sym_nodes, tangents)
    unwatched = set()
    if omit_aot_autograd_runtime:
        handed = saved_values + saved_sym_nodes
    else:
        # What is not watched for writes comes last.
        saved_values.sort(key=lambda node: bool(node.meta.get("saved_tensor_with_no_vc_check", False)))
        unwatched = {i for i, node in enumerate(saved_values) if node.meta.get("saved_tensor_with_no_vc_check", False)}
        handed = saved_sym_nodes + saved_values
    saved = saved_values + saved_sym_nodes
    descs = [(SavedForBackwardsNoVcCheckAOTOutput if i in unwatched else SavedForBackwardsAOTOutput)(i) for i in range(len(saved))]
    fwd_graph = _extract_graph_with_inputs_outputs(
        graph, primals + fwd_seeds, fwd_outputs + saved, fwd_descs + descs, "forward", ignore_must_be_in_fw_bw
    )
    bwd_graph = backward(handed + tangents + bwd_seeds + states)
    for node in bwd_graph.nodes:
        if node.op in ("call_function", "get_attr"):
            node.meta["autograd_backward"] = True
    return GraphModule(joint_module, fwd_graph), GraphModule(joint_module, bwd_graph)
