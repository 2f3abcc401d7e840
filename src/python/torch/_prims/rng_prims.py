"""Operators on random numbers: a call with the generator's state before it, a call in a given state, and Philox by seed and offset.

The values that `philox_rand` gives on the pretended CUDA device are drawn by position; no card was there to check them against.
"""

import torch


def run_and_save_rng_state(op, *args, **kwargs):
    """The generator's state, and what a call gives."""
    state = torch.get_rng_state()
    return state, op(*args, **kwargs)


def run_with_rng_state(rng_state, op, *args, **kwargs):
    """What a call gives in a state; the generator's own is put back."""
    before = torch.get_rng_state()
    torch.set_rng_state(rng_state.cpu())
    try:
        return op(*args, **kwargs)
    finally:
        torch.set_rng_state(before)


def throw_on_non_cuda(device):
    """Random operators are functionalized for CUDA alone."""
    raise RuntimeError(
        f"You are trying to functionalize a {device.type} RNG operator but {device.type} does not use Philox/counter-based RNG. Therefore, "
        f"functionalizing a {device.type} RNG operator is not supported. We are discussing the possibility of a Philox-based RNG implementation "
        "for CPU."
    )
