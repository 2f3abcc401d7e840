"""`np.random`: the legacy functions over one `RandomState`, and `default_rng`."""

from numpy._absent import attribute_error
from numpy.random._generator import Generator, default_rng
from numpy.random._legacy import RandomState, global_state, names
from numpy.random._seeds import MT19937, PCG64, BitGenerator, SeedSequence

__all__ = ["Generator", "RandomState", "SeedSequence", "MT19937", "PCG64", "BitGenerator", "default_rng", *names()]


def __getattr__(name):
    if name in names():
        return getattr(global_state(), name)
    raise attribute_error("numpy.random", name)


def get_bit_generator():
    """The bit generator of the legacy functions."""
    return global_state()._bit_generator
