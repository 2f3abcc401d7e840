"""`FunctionalTensor`: a functional tensor with a mode that functionalizes what is called inside of it."""

import torch
import torch.utils._pytree as pytree
from torch import _native_fake

__all__ = ["FunctionalTensor", "FunctionalTensorMode", "dispatch_functionalize"]


class FunctionalTensor(torch.Tensor):
    """A tensor that stands for another, which writes leave alone. Calls with it are made inside of a `FunctionalTensorMode`."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def to_functional(x):
        return _native_fake.to_functional(x, FunctionalTensor)

    @property
    def elem(self):
        return self

    def from_functional(self):
        return _native_fake.from_functional(self)

    def __repr__(self, *, tensor_contents=None):
        return f"FunctionalTensor({super().__repr__()})"


class FunctionalTensorMode:
    """Every call is functionalized; views stay views."""

    def __enter__(self):
        _native_fake.functionalize_all(True, FunctionalTensor)
        return self

    def __exit__(self, *_):
        _native_fake.functionalize_all(None, None)


def dispatch_functionalize(func):
    """A function whose calls are functionalized, on functional tensors of its arguments: what it writes to stays as it was."""

    def inner(*args, **kwargs):
        def functional(x):
            return FunctionalTensor.to_functional(x) if isinstance(x, torch.Tensor) and not isinstance(x, FunctionalTensor) else x

        args, kwargs = pytree.tree_map(functional, (args, kwargs))
        with FunctionalTensorMode():
            outputs = func(*args, **kwargs)
        return pytree.tree_map(lambda x: x.from_functional() if isinstance(x, FunctionalTensor) else x, outputs)

    return inner
