"""Calls of numpy inside a compiled function: the graph ends before the call, which Python makes with real values.

PyTorch traces numpy through `torch._numpy`; here a call of it is what it is there under `torch._dynamo.config.trace_numpy = False`.
"""

import torch
from torch import _native_compile

_is_compiling = _native_compile._is_compiling


def outside(function, *arguments, **named):
    """Calls a function of numpy's outside of the graph that is captured, which ends before."""
    _native_compile._graph_break("numpy", "attempted to trace numpy function with config.trace_numpy=False")
    with _native_compile._suspended():
        return function(*arguments, **named)


def of_tensors(function):
    """A function that numpy leaves to its argument's own method: of a tensor it gives one."""

    def call(a, *arguments, **named):
        result = function(a, *arguments, **named)
        if not isinstance(a, torch.Tensor):
            return result
        from numpy._array import asarray

        return torch.from_numpy(asarray(result))

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def public(function):
    """A function that scripts call."""

    def call(*arguments, **named):
        if _is_compiling():
            return outside(function, *arguments, **named)
        return function(*arguments, **named)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    call.__wrapped__ = function
    call.__module__ = "numpy"
    return call
