"""The partitioners: a joint graph in two."""

import torch
from torch import _native_aot, _native_partition
from torch._arguments import unobeyed
from torch._functorch import config
from torch._functorch._activation_checkpointing.knapsack import (
    dp_knapsack,
    dp_knapsack_sliding_hirschberg,
    greedy_knapsack,
    ilp_knapsack,
)
from torch._functorch._extraction import (
    InvalidNode,
    InvalidNodeBase,
    _extract_fwd_bwd_modules,
    _extract_graph_with_inputs_outputs,
    _remove_by_name,
)
from torch._functorch._joint_nodes import (
    _count_ops,
    _extract_fwd_bwd_outputs,
    _has_tag_is_backward,
    _has_tag_is_forward,
    _has_tag_must_be_in_backward,
    _has_tag_must_be_in_forward,
    _is_assert_only_symbool,
    _is_backward_state,
    _is_bwd_seed_offset,
    _is_fwd_seed_offset,
    _is_primal,
    _is_tangent,
    _must_be_in_backward,
    _must_be_in_forward,
    _size_of,
    _tensor_nbytes,
    find_first_sym_node,
    get_name_to_node,
    get_schema_arg_idx,
    has_recomputable_ops,
    has_recomputable_rng_ops,
    is_mutable,
    is_nonzero_dropout_sdpa,
    is_rng_op,
    is_sym_node,
    log,
    must_recompute,
    sort_depths,
    sym_node_size,
)
from torch._functorch._joint_passes import (
    cleanup_recompute_tags,
    force_save_bw_mutation_src,
    force_save_collectives,
    force_save_effectful_ops,
    is_getitem_of_multi_output,
    reordering_to_mimic_autograd_engine,
)
from torch._functorch._min_cut import (
    MinCutOptions,
    NodeInfo,
    _choose_recomputed,
    _estimate_runtimes,
    _optimize_runtime_with_given_memory,
    choose_saved_values_set,
    classify_nodes,
    estimate_runtime,
    solve_min_cut,
)
from torch._functorch._operator_classes import OpTypes, get_default_op_list, pointwise_ops
from torch._functorch.compile_utils import fx_graph_cse, get_aten_target, raise_getitems

AOT_PARTITIONER_DEBUG = config.debug_partitioner
INT_INF = 10**6
aten, prims = torch.ops.aten, torch.ops.prims


def _only_known_tags(joint_module):
    """Refuses a tag that says where a call must be which may be in either part."""
    for node in joint_module.graph.nodes:
        if (_has_tag_must_be_in_forward(node) or _has_tag_must_be_in_backward(node)) and not is_mutable(node):
            tag = node.meta["partitioner_tag"]
            raise NotImplementedError(f"partitioner_tag '{tag}' of {node.name}, which writes to nothing, is not available in the playground")


def default_partition(
    joint_module, _joint_inputs, *, num_fwd_outputs, static_lifetime_input_indices=None, static_lifetime_input_nodes=None
):
    """Saves everything the backward reads of the forward."""
    unobeyed("default_partition", static_lifetime_input_nodes=(static_lifetime_input_nodes, None))
    _only_known_tags(joint_module)
    return _native_aot._partition(joint_module, num_fwd_outputs, "default", static_lifetime_input_indices or [])


def min_cut_rematerialization_partition(
    joint_module, _joint_inputs, compiler="inductor", *, num_fwd_outputs, static_lifetime_input_indices=None
):
    """Saves the cheapest values; the backward computes the rest again."""
    _only_known_tags(joint_module)
    return _native_aot._partition(joint_module, num_fwd_outputs, "min_cut", static_lifetime_input_indices or [])


def functionalize_rng_ops(joint_module, fw_module, bw_module, num_sym_nodes):
    """Parts whose backward draws again what the forward drew: the generator's state is handed over."""
    return _native_partition.functionalize_rng_ops(joint_module, fw_module, bw_module, num_sym_nodes)


def calculate_range(dtype):
    """The least and the greatest number of a dtype."""
    info = torch.finfo(dtype)
    return info.min, info.max


_ABSENT = {
    "visualize_min_cut_graph": "it draws with pydot",
    "apply_graphsafe_rng_functionalization": "it hands over the state of CUDA generators",
    "thread_graphsafe_rng_from_hops": "it hands over the state of CUDA generators",
    "perform_fp8_activation_quantization": "activations are not quantized",
    "enable_activation_quantization": "activations are not quantized",
    "quantize_activation_fw": "activations are not quantized",
    "quantize_activation_bw": "activations are not quantized",
}


def __getattr__(name):
    reason = f" (not available in the playground: {_ABSENT[name]})" if name in _ABSENT else ""
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'{reason}")


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
