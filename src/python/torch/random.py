"""The default random generator."""

from contextlib import contextmanager

from torch import _native_compile
from torch._C import default_generator

__all__ = ["set_rng_state", "get_rng_state", "manual_seed", "seed", "initial_seed", "fork_rng"]


def set_rng_state(new_state):
    """Puts the generator into a state that `get_rng_state` gave."""
    _native_compile._leave("skipped", "set_rng_state", "torch.random", "torch/random")
    default_generator.set_state(new_state)


def get_rng_state():
    """The generator's state as a tensor of bytes."""
    _native_compile._leave("skipped", "get_rng_state", "torch.random", "torch/random")
    return default_generator.get_state()


def manual_seed(seed):
    """Seeds the generator."""
    _native_compile._leave("skipped", "manual_seed", "torch.random", "torch/_compile")
    return default_generator.manual_seed(int(seed))


def seed():
    """Seeds the generator with a number nobody chose, and gives it."""
    return default_generator.seed()


def initial_seed():
    """The number it was seeded with."""
    _native_compile._leave("non_tensor", "int", "initial_seed")
    return default_generator.initial_seed()


@contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """Puts the generator back where it was after a block."""
    if not enabled:
        yield
        return
    # What was recorded before takes its numbers first, as does what is recorded in the block before the state comes back.
    _native_compile._graph_break("skipped", "get_rng_state", "torch.random", "torch/random")
    state = get_rng_state()
    try:
        yield
    finally:
        _native_compile._graph_break("skipped", "set_rng_state", "torch.random", "torch/random")
        set_rng_state(state)
