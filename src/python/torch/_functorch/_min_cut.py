"""The min-cut partitioner's decisions, step by step: which part needs which node, what may be recomputed, what is saved."""

from dataclasses import dataclass
from functools import cached_property

from torch import _native_partition
from torch._functorch import _joint_nodes as nodes
from torch._functorch import config
from torch._functorch._activation_checkpointing import knapsack
from torch._functorch._extraction import _extract_graph_with_inputs_outputs
from torch.utils._ordered_set import OrderedSet


@dataclass
class NodeInfo:
    """Which part needs which of a joint graph's nodes."""

    inputs: list
    _required_fw_nodes: OrderedSet
    required_bw_nodes: OrderedSet
    tangents_closure: OrderedSet
    unclaimed_nodes: OrderedSet
    fw_order: dict
    static_lifetime_input_nodes: OrderedSet

    @cached_property
    def required_fw_nodes(self):
        """What the forward needs, in order."""
        return sorted(self._required_fw_nodes, key=self.fw_order.get)

    def is_required_fw(self, n):
        return n in self._required_fw_nodes

    def is_required_bw(self, n):
        return n in self.required_bw_nodes

    def is_unclaimed(self, n):
        return n in self.unclaimed_nodes

    def get_fw_order(self, n):
        if n not in self._required_fw_nodes:
            raise AssertionError(f"Node {n} not in fw nodes!")
        return self.fw_order[n]


def node_info(graph, inputs, required_fw, required_bw, tangents_closure, static_inputs):
    """What is known of a graph's nodes, given whose they are."""
    required_fw = OrderedSet(node for node in graph.nodes if node in required_fw)
    unclaimed = OrderedSet(node for node in graph.nodes if node not in required_fw and node not in required_bw)
    order = {node: i for i, node in enumerate(required_fw)}
    return NodeInfo(inputs, required_fw, required_bw, tangents_closure, unclaimed, order, static_inputs)


def classify_nodes(joint_module, static_lifetime_input_indices, num_fwd_outputs):
    """Which part needs which node."""
    graph = joint_module.graph
    closure = OrderedSet()
    for node in graph.nodes:
        if nodes._is_tangent(node) or nodes._must_be_in_backward(node):
            closure.add(node)
        if node in closure:
            closure.update(node.users)
    primals = [node for node in graph.nodes if nodes._is_primal(node)]
    inputs = primals + [node for node in graph.nodes if nodes._is_fwd_seed_offset(node)]
    fwd_outputs, bwd_outputs, fwd_descs, _ = nodes._extract_fwd_bwd_outputs(joint_module, num_fwd_outputs=num_fwd_outputs)
    required_bw = closure.copy()
    required_bw.update(node for node in bwd_outputs if node is not None and node.op != "output")
    forward = _extract_graph_with_inputs_outputs(graph, inputs, fwd_outputs, fwd_descs, "forward")
    names = {node.name for node in forward.nodes if node.op != "output"}
    required_fw = {node for node in graph.nodes if node.name in names}
    static = OrderedSet(node for i, node in enumerate(primals) if i in static_lifetime_input_indices)
    return node_info(graph, inputs, required_fw, required_bw, closure, static)


@dataclass
class MinCutOptions:
    """Which values may not be recomputed."""

    ban_if_used_far_apart: bool
    ban_if_long_fusible_chains: bool
    ban_if_materialized_backward: bool
    ban_if_not_in_allowlist: bool
    ban_if_reduction: bool


def _told(joint_graph, info):
    """What is known of the nodes, by their names; and how far each is from the backward, which whoever asks has set."""
    replayed = [node for node in info.inputs if node.meta.get("aot_runtime_epilogue_input_mutation", False)]
    lists = info.inputs, info.required_fw_nodes, info.required_bw_nodes, info.tangents_closure, info.static_lifetime_input_nodes, replayed
    # A write's reader may be the output itself.
    named = [[node.name for node in of if node.op != "output"] for of in lists]
    inner = [node for node in joint_graph.nodes if node.op != "output"]
    return named, ([node.name for node in inner], [node.dist_from_bw for node in inner])


def solve_min_cut(joint_graph, node_info, min_cut_options, dont_ban=None):
    """The cheapest values to save, and the values that may not be recomputed."""
    rules = [
        min_cut_options.ban_if_used_far_apart,
        min_cut_options.ban_if_long_fusible_chains,
        min_cut_options.ban_if_materialized_backward,
        min_cut_options.ban_if_not_in_allowlist,
        min_cut_options.ban_if_reduction,
    ]
    exempt = [node.name for node in dont_ban or ()]
    saved, banned = _native_partition.solve_min_cut(joint_graph, *_told(joint_graph, node_info), rules, exempt)
    by_name = nodes.get_name_to_node(joint_graph)
    return [by_name[name] for name in saved], OrderedSet(by_name[name] for name in banned)


def choose_saved_values_set(joint_graph, node_info, memory_budget=1):
    """The values to save within a budget of memory."""
    if memory_budget > 1 or memory_budget < 0:
        raise RuntimeError(f"The valid ranges for memory budget are 0 <= m <= 1. The provided value is {memory_budget}")
    if memory_budget == 0 and not any(node.meta.get("aot_runtime_epilogue_input_mutation", False) for node in node_info.inputs):
        return node_info.inputs
    told = _told(joint_graph, node_info)
    by_name = nodes.get_name_to_node(joint_graph)
    return [by_name[name] for name in _native_partition.choose_saved_values(joint_graph, *told, float(memory_budget))]


def estimate_runtime(node):
    """What computing a node costs, by the estimator of the settings."""
    estimator = config.activation_memory_budget_runtime_estimator
    if estimator == "testing":
        return 1
    cost = _native_partition.estimate_runtime(node.graph, node.name)
    return int(cost) if estimator == "flops" else cost


_SOLVERS = {
    "greedy": knapsack.greedy_knapsack,
    "ilp": knapsack.ilp_knapsack,
    "dp": knapsack.dp_knapsack,
    "dp_knapsack_sliding_hirschberg": knapsack.dp_knapsack_sliding_hirschberg,
}


def _optimize_runtime_with_given_memory(joint_graph, memory, runtimes, max_memory, node_info, all_recomputable_banned_nodes):
    """What the solver of the settings puts into a knapsack."""
    from torch._inductor.custom_graph_pass import CustomKnapsackSolver

    solver = config.activation_memory_budget_solver
    if isinstance(solver, CustomKnapsackSolver):
        return (0.0, *solver(memory, joint_graph, max_memory, node_info, all_recomputable_banned_nodes))
    if solver == "dynamic_memory_budget_dp":
        raise NotImplementedError("_optimize_runtime_with_given_memory with the solver 'dynamic_memory_budget_dp' is not available in the playground")
    if solver not in _SOLVERS:
        raise RuntimeError(f"Not aware of memory budget knapsack solver: {solver}")
    return _SOLVERS[solver](memory, runtimes, max_memory)


def nodes_named(joint, names):
    """A joint graph's nodes of some names."""
    by_name = nodes.get_name_to_node(joint.graph)
    return [by_name[name] for name in names]


def _estimate_runtimes(estimator, joint, names):
    """What a script's `CustomRuntimeEstimator` says of some nodes."""
    from torch._inductor.custom_graph_pass import CustomRuntimeEstimator

    if not isinstance(estimator, CustomRuntimeEstimator):
        raise RuntimeError(f"Not aware of runtime estimator: {estimator}")
    return [float(estimator(node)) for node in nodes_named(joint, names)]


def _choose_recomputed(solver, joint, names, memory, max_memory, inputs, *of_parts):
    """Positions of the nodes that a script's `CustomKnapsackSolver` recomputes."""
    from torch._inductor.custom_graph_pass import CustomKnapsackSolver

    if not isinstance(solver, CustomKnapsackSolver):
        raise RuntimeError(f"Not aware of memory budget knapsack solver: {solver}")
    of_parts = [OrderedSet(nodes_named(joint, of)) for of in of_parts]
    info = node_info(joint.graph, nodes_named(joint, inputs), *of_parts)
    _saved, recomputed = solver(memory, joint.graph, max_memory, info, nodes_named(joint, names))
    return list(recomputed)
