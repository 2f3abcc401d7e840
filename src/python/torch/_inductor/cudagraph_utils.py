"""What stands in the way of a CUDA graph: graphs that run on the CPU or on several devices, and inputs that are written to."""

import logging
from dataclasses import dataclass

from torch import device

log = logging.getLogger("torch._inductor.cudagraph_utils.__cudagraphs")


@dataclass(frozen=True)
class PlaceholderInfo:
    """An input of a graph: the line it is from, what reads it, and the line that writes to it."""

    name: str
    stack_trace: str | None
    users: list
    mutating_use_stack_trace: str | None


def to_placeholder_info(node):
    if node.op != "placeholder":
        return PlaceholderInfo(node.name, node.meta.get("stack_trace"), [], None)
    users = [to_placeholder_info(user) for user in node.users]
    return PlaceholderInfo(node.name, node.meta.get("stack_trace"), users, _line_of_write(node))


def _line_of_write(placeholder):
    import torch

    users = list(placeholder.users)
    # What reads an input alone may write to it in its own way.
    writes = users if len(users) == 1 else [user for user in users if user.target is torch.ops.aten.copy_.default]
    return next((line for line in (user.meta.get("stack_trace") for user in writes) if line), None)


def get_placeholder_info(graph):
    return [to_placeholder_info(node) for node in graph.nodes if node.op == "placeholder"]


def format_default_skip_message(reason):
    return f"skipping cudagraphs due to {reason}"


def _with_line(message, line):
    return f"{message}. Found from : \n {line}" if line else message


def get_mutation_stack_trace(placeholders, mutation_indices):
    lines = (placeholders[index].mutating_use_stack_trace for index in mutation_indices)
    message = format_default_skip_message(f"mutated inputs ({len(mutation_indices)} instances)")
    return _with_line(message, next((line for line in lines if line), None))


def check_multiple_devices_or_any_cpu_nodes(device_node_mapping):
    """Why values on these devices have no CUDA graph: a sentence, or `None`."""
    from torch._inductor import config

    device_node_mapping.pop(device("meta"), None)
    if config.graph_partition and config.triton.cudagraphs:
        device_node_mapping.pop(device("cpu"), None)
    if (node := device_node_mapping.get(device("cpu"))) is not None:
        line = next((line for line in (user.meta.get("stack_trace") for user in node.users) if line), None)
        return format_default_skip_message(_with_line(f"cpu device ({node.name})", line))
    if len(device_node_mapping) == 1 and next(iter(device_node_mapping)).type == "cuda":
        return None
    return format_default_skip_message(f"multiple devices: {', '.join(map(repr, device_node_mapping))}")


# What Inductor asks of a graph that it has lowered.
check_lowering_disable_cudagraph = check_multiple_devices_or_any_cpu_nodes


def log_cudagraph_skip_and_bump_counter(msg):
    from torch._dynamo.utils import counters
    from torch._inductor import config

    log.warning(msg)
    counters["inductor"]["cudagraph_skips"] += 1
    if config.triton.cudagraph_or_error:
        raise RuntimeError(msg)
