"""The backend `cudagraphs`: AOTAutograd, and a CUDA graph for each graph that can have one.

No CUDA graph is recorded here, where kernels are called one by one; what keeps PyTorch from recording one is said in its words.
"""

from torch._dynamo import config
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor.cudagraph_utils import (
    check_multiple_devices_or_any_cpu_nodes,
    get_mutation_stack_trace,
    get_placeholder_info,
    log_cudagraph_skip_and_bump_counter,
)


def find_input_mutations(graph):
    """Which inputs of a graph a call writes to, by index; inputs that share a storage are written to together."""
    from torch import Tensor
    from torch import _native_library as _native

    storages, written = {}, set()
    for index, node in enumerate(graph.find_nodes(op="placeholder")):
        if isinstance(node.meta.get("val"), Tensor):
            storages.setdefault(_native.storage_id(node.meta["val"]), set()).add(index)
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or schema is None:
            continue
        for place, argument in enumerate(schema.arguments):
            given = node.args[place] if place < len(node.args) else node.kwargs.get(argument.name)
            value = getattr(given, "meta", {}).get("val")
            if argument.alias_info and argument.alias_info.is_write and isinstance(value, Tensor):
                written |= storages.get(_native.storage_id(value), set())
    return written


def get_device_node_mapping(gm):
    """The devices of a graph's values, each with the first node that has one there."""
    from torch import Tensor

    mapping = {}
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, Tensor):
            mapping.setdefault(value.device, node)
    return mapping


def check_for_mutation_ignore_cuda_graph_managed_tensor(aot_model, num_fixed):
    written = find_input_mutations(aot_model.graph) - set(range(num_fixed))
    return get_mutation_stack_trace(get_placeholder_info(aot_model.graph), written) if written else None


def check_for_skip(aot_model, num_fixed):
    """Why a graph has no CUDA graph, or `None`."""
    if not config.cudagraph_backend_support_input_mutation:
        if reason := check_for_mutation_ignore_cuda_graph_managed_tensor(aot_model, num_fixed):
            return reason
    return check_multiple_devices_or_any_cpu_nodes(get_device_node_mapping(aot_model))


def cudagraphs(dynamo_model, dynamo_inputs):
    records = True

    def skips(aot_model, num_fixed):
        reason = check_for_skip(aot_model, num_fixed)
        if reason:
            log_cudagraph_skip_and_bump_counter(f"skipping cudagraphs due to {reason}")
        return bool(reason)

    def forward(aot_model, aot_inputs):
        nonlocal records
        if skips(aot_model, max(len(aot_inputs) - len(dynamo_inputs), 0)):
            records = False
        return make_boxed_func(aot_model)

    def backward(aot_model, aot_inputs):
        if records:
            skips(aot_model, sum("tangents" not in node.name for node in aot_model.graph.find_nodes(op="placeholder")))
        return make_boxed_func(aot_model)

    keeps = config.cudagraph_backend_keep_input_mutation
    compiled = aot_autograd(fw_compiler=forward, bw_compiler=backward, inference_compiler=forward, keep_inference_input_mutations=keeps)
    return compiled(dynamo_model, dynamo_inputs)
