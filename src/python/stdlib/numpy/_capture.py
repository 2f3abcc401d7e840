"""Calls of numpy inside a compiled function.

A captured graph has a call of numpy's as one of the function of that name in `torch._numpy`, over the tensors that arrays are held in. What
is not there, and everything where `torch._dynamo.config.trace_numpy` is False, ends the graph before the call, which Python makes with
real values.
"""

import operator
import sys

import torch
from torch import _native_compile

_is_compiling = _native_compile._is_capturing
# Methods that ask for the truth of what is computed.
_BRANCHES = ("__bool__", "__contains__")


def traces():
    """Whether calls become part of the graph that is captured."""
    config = sys.modules.get("torch._dynamo.config")
    return config is None or config.trace_numpy


def outside(function, *arguments, **named):
    """Calls a function of numpy's outside of the graph that is captured, which ends before."""
    reason = "unsupported by PyTorch" if traces() else "with config.trace_numpy=False"
    if getattr(function, "__name__", "") in _BRANCHES and traces():
        _native_compile._graph_break("branch")
    else:
        _native_compile._graph_break("numpy", f"attempted to trace numpy function {reason}")
    with _native_compile._suspended():
        return function(*arguments, **named)


def captured(home, name, function, arguments, named=None, shown=None):
    """A call inside a compiled function, of a function of numpy's by its module and name: what it gives in the graph, where it is `shown`
    under another name where Dynamo has one."""
    named = named or {}
    if traces():
        from torch import _numpy

        stands = _numpy.find(home, name)
        if stands is not None:
            from torch._numpy._operands import plain

            found = _native_compile._call_of_numpy(f"wrapped_{shown or stands.__name__}", stands, plain(tuple(arguments)), {
                key: plain(value) for key, value in named.items()
            })
            if found is not NotImplemented:
                return of_tensors_of(found)
    return outside(function, *arguments, **named)


def shown_operator(symbol):
    """The name of an operator in Python's `operator`."""
    name = symbol.strip("_")
    return f"{name}_" if name in ("and", "or") else name


def beside_tensor(name, left, right):
    """An operator between one of numpy's and a tensor inside a compiled function: that of two tensors."""
    from torch._numpy._operands import plain

    return getattr(operator, name)(plain(left), plain(right))


def of_tensors_of(found):
    """What a function of tensors gave, with arrays for tensors."""
    if isinstance(found, torch.Tensor):
        from numpy._array import ndarray
        from numpy._dtypes import OF_TORCH

        return ndarray(found, OF_TORCH[found.dtype])
    if isinstance(found, (tuple, list)):
        items = [of_tensors_of(item) for item in found]
        return items if type(found) is list else tuple(items)
    return found


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


def public(function, home="numpy"):
    """A function that scripts call."""
    name = function.__name__

    def call(*arguments, **named):
        if _is_compiling():
            return captured(home, name, function, arguments, named)
        return function(*arguments, **named)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    call.__wrapped__ = function
    call.__module__ = "numpy"
    return call
