"""PyTorch's `prims` as Python has them: those about random numbers."""

from torch._prims import rng_prims
