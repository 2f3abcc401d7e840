"""`Variable`, of old: what made a tensor one that could require gradients. Every tensor is an instance of it."""

import torch
from torch import _native_compile


class _VariableMeta(type):
    def __instancecheck__(cls, other):
        return isinstance(other, torch.Tensor)


class Variable(metaclass=_VariableMeta):
    """`Variable(data, requires_grad=False)` is a leaf that shares the memory of `data`."""

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        # To Dynamo this is a class of C, which it does not trace.
        _native_compile._graph_break("unknown_builtin", "_LegacyVariableBase.__new__", "<unknown module>")
        if data is None:
            data = torch.empty(0)
        elif not isinstance(data, torch.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        with _native_compile._suspended():
            return data.detach().requires_grad_(requires_grad)
