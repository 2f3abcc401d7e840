"""The partitioners: a joint graph in two."""

from torch import _native_compile


def default_partition(
    joint_module, _joint_inputs, *, num_fwd_outputs, static_lifetime_input_indices=None, static_lifetime_input_nodes=None
):
    """Saves everything the backward reads of the forward."""
    return _native_compile._partition(joint_module, num_fwd_outputs, "default", static_lifetime_input_indices or [])


def min_cut_rematerialization_partition(
    joint_module, _joint_inputs, compiler="inductor", *, num_fwd_outputs, static_lifetime_input_indices=None
):
    """Saves the cheapest values; the backward computes the rest again."""
    return _native_compile._partition(joint_module, num_fwd_outputs, "min_cut", static_lifetime_input_indices or [])


def name_of(partition_fn):
    """How the native side calls a partitioner of ours; the function itself for one of the script's."""
    if partition_fn is None or partition_fn is default_partition:
        return "default"
    return "min_cut" if partition_fn is min_cut_rematerialization_partition else partition_fn
