"""The partitioners: a joint graph in two."""

from torch import _native_aot
from torch._arguments import unobeyed


def default_partition(
    joint_module, _joint_inputs, *, num_fwd_outputs, static_lifetime_input_indices=None, static_lifetime_input_nodes=None
):
    """Saves everything the backward reads of the forward."""
    unobeyed("default_partition", static_lifetime_input_nodes=(static_lifetime_input_nodes, None))
    return _native_aot._partition(joint_module, num_fwd_outputs, "default", static_lifetime_input_indices or [])


def min_cut_rematerialization_partition(
    joint_module, _joint_inputs, compiler="inductor", *, num_fwd_outputs, static_lifetime_input_indices=None
):
    """Saves the cheapest values; the backward computes the rest again."""
    return _native_aot._partition(joint_module, num_fwd_outputs, "min_cut", static_lifetime_input_indices or [])


def draw_graph(traced, fname, figname="fx_graph", clear_meta=True, prog=None, parse_stack_trace=False, dot_graph_shape=None, **_):
    """A picture in a file: the page draws every graph, and exports SVG and DOT; a script has no Graphviz here."""
    raise RuntimeError("FXGraphDrawer requires the pydot package to be installed, which the playground does not have: its page draws graphs")


def draw_joint_graph(graph, joint_inputs, file_name="full_graph.png", dot_graph_shape=None):
    draw_graph(graph, file_name, dot_graph_shape=dot_graph_shape)
    return default_partition(graph, joint_inputs)


def name_of(partition_fn):
    """How the native side calls a partitioner of ours; the function itself for one of the script's."""
    if partition_fn is None or partition_fn is default_partition:
        return "default"
    return "min_cut" if partition_fn is min_cut_rematerialization_partition else partition_fn


def _nodes(joint, names):
    by_name = {node.name: node for node in joint.graph.nodes}
    return [by_name[name] for name in names]


def _estimate_runtimes(estimator, joint, names):
    """What a script's `CustomRuntimeEstimator` says of some nodes."""
    from torch._inductor.custom_graph_pass import CustomRuntimeEstimator

    if not isinstance(estimator, CustomRuntimeEstimator):
        raise RuntimeError(f"Not aware of runtime estimator: {estimator}")
    return [float(estimator(node)) for node in _nodes(joint, names)]


class NodeInfo:
    """What a `CustomKnapsackSolver` is told of the joint graph's nodes."""

    def __init__(self, inputs, required_fw_nodes):
        self.inputs = inputs
        self.required_fw_nodes = required_fw_nodes
        self.fw_order = {node: i for i, node in enumerate(required_fw_nodes)}

    def is_required_fw(self, node):
        return node in self.fw_order


def _choose_recomputed(solver, joint, names, memory, max_memory, inputs, required):
    """Positions of the nodes that a script's `CustomKnapsackSolver` recomputes."""
    from torch._inductor.custom_graph_pass import CustomKnapsackSolver

    if not isinstance(solver, CustomKnapsackSolver):
        raise RuntimeError(f"Not aware of memory budget knapsack solver: {solver}")
    info = NodeInfo(_nodes(joint, inputs), _nodes(joint, required))
    _saved, recomputed = solver(memory, joint.graph, max_memory, info, _nodes(joint, names))
    return list(recomputed)
