"""`Parameter` and `Buffer`: tensors that a module registers when they are assigned to it."""

from collections import OrderedDict

import torch
from torch import _native_compile
from torch._tensor import outside_of_graphs

__all__ = ["Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer", "is_lazy"]


class _ParameterMeta(type(torch.Tensor)):
    """`isinstance` also accepts a tensor of a subclass that is marked as a parameter."""

    def __instancecheck__(self, instance):
        if self is Parameter and isinstance(instance, torch.Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """A tensor that is a module's parameter."""

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        if type(data) is torch.Tensor or type(data) is Parameter:
            _native_compile._before_parameter(data)
            return torch._C._make_subclass(cls, data, requires_grad)
        tensor = data.detach().requires_grad_(requires_grad)
        if type(tensor) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
                f"instance of the same type, but return type {type(tensor).__name__} was found instead. To use the type as a "
                "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation."
            )
        tensor._is_param = True
        return tensor

    @outside_of_graphs(lambda: _native_compile._graph_break("deepcopy"))
    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.data.clone(memory_format=torch.preserve_format), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self, *, tensor_contents=None):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto):
        from torch._memories import reduced

        return reduced(self)

    __torch_function__ = torch._C._disabled_torch_function_impl


class _BufferMeta(type(torch.Tensor)):
    def __instancecheck__(self, instance):
        if self is Buffer and isinstance(instance, torch.Tensor) and getattr(instance, "_is_buffer", False):
            return True
        return super().__instancecheck__(instance)


class Buffer(torch.Tensor, metaclass=_BufferMeta):
    """A tensor that a module keeps beside its parameters."""

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = torch.empty(0)
        tensor = data.detach().requires_grad_(data.requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor

    __torch_function__ = torch._C._disabled_torch_function_impl


class UninitializedTensorMixin:
    """A parameter or buffer whose shape is known only after the first forward."""

    _allowed_methods = ("shape", "data", "device", "dtype", "requires_grad", "is_leaf", "grad", "grad_fn", "layout")

    def materialize(self, shape, device=None, dtype=None):
        self.data = torch.empty(
            shape, device=self.data.device if device is None else device, dtype=self.data.dtype if dtype is None else dtype
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
            "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
            "parameters before accessing their attributes."
        )

    def __repr__(self):
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self, proto):
        return (self.__class__, (self.requires_grad,))


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter that is not there yet."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return torch._C._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):
    """A buffer that is not there yet."""

    cls_to_become = torch.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        tensor = torch._C._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor


def is_lazy(param):
    """Whether `param` has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)
