"""The classes of symbolic numbers: the native ones, or, where nothing is symbolic, classes of nothing."""

from torch import _C

SymInt, SymFloat, SymBool = (
    getattr(_C, name, None) or type(name, (), {"__module__": "torch", "__doc__": "A symbolic number."})
    for name in ("SymInt", "SymFloat", "SymBool")
)
