"""The operators by their plain names."""

from torch import _C


def __getattr__(name):
    return getattr(_C._VariableFunctions, name)
