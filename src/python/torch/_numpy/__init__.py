"""numpy as a captured graph has it: functions of tensors that are called like numpy's.

A compiled function traces a call of numpy's as the function of that name here. It computes what PyTorch does, which is not always what
numpy does: there are no scalars, only arrays without axes; a quotient of integers has PyTorch's default dtype; what random functions
draw comes of PyTorch's generator.
"""

import functools


@functools.cache
def tables():
    """Functions by module and name."""
    from torch._numpy import _arrays, _elementwise, _linear, _methods, _random, _reductions

    whole = {**_elementwise.TABLE, **_reductions.TABLE, **_arrays.TABLE}
    return {"numpy": whole, "numpy.ndarray": _methods.TABLE, "numpy.linalg": _linear.TABLE, "numpy.random": _random.TABLE}


def find(module, name):
    """The function that stands for one of numpy's, or None."""
    return tables().get(module, {}).get(name)


_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder", "pow": "power",
    "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift", "matmul": "matmul",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}


class wrapper:
    """A function of numpy's as a node of a captured graph calls it: with tensors, for tensors."""

    def __init__(self, name):
        self.__name__, self.__module__ = f"wrapped_{name}", "torch._dynamo.utils"
        in_place = _OPERATORS.get(name[1:]) if name.startswith("i") else None
        if name in _OPERATORS or in_place:
            self._kind, self._original = "operator", self.__name__
            self._function = find("numpy", _OPERATORS[name]) if name in _OPERATORS else find("numpy.ndarray", f"in_place {in_place}")
        else:
            methods = {"getitem": "__getitem__"}
            self._kind, self._original = "function", name
            found = (find(home, methods.get(name, name)) for home in ("numpy", "numpy.ndarray", "numpy.linalg", "numpy.random"))
            self._function = next(function for function in found if function is not None)

    def __repr__(self):
        return f"<Wrapped {self._kind} <original {self._original}>>"

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)
