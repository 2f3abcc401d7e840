"""What PyTorch keeps in its C++ extension: names of `torch._native` (Rust), and the namespaces of operators."""

import operator as _operator

from torch import _native, _native_compile
from torch._tensor import Size, Tensor


class _Operators:
    """A namespace in which every operator of the catalogue is a function, made when it is first used."""

    def __init__(self, prefix):
        self.__dict__["_prefix"] = prefix

    def __getattr__(self, name):
        found = None if name.startswith("__") else _native._function(name, self._prefix)
        if found is None:
            from torch._absent import attribute_error

            raise attribute_error(self._prefix.rstrip("."), name)
        self.__dict__[name] = found
        return found

    def __dir__(self):
        return _native._function_names()


_VariableFunctions = _Operators("torch.")
_nn = _Operators("torch._C._nn.")
_special = _Operators("torch.special.")
_linalg = _Operators("torch.linalg.")
_fft = _Operators("torch.fft.")

def _of_tensor(name):
    """A function that is a method of its first argument: `torch.numel(x)`."""
    method = getattr(_native.TensorBase, name)
    return lambda input, *args, **kwargs: method(input, *args, **kwargs)


for _name in ("numel", "is_complex", "is_floating_point", "is_signed", "is_conj", "is_neg"):
    _VariableFunctions.__dict__[_name] = _of_tensor(_name)

TensorBase = _native.TensorBase
default_generator = _native._default_generator()


class _autograd:
    """What `torch.autograd` asks of the engine."""

    _push_saved_tensors_default_hooks = staticmethod(_native._push_saved_tensors_default_hooks)
    _pop_saved_tensors_default_hooks = staticmethod(_native._pop_saved_tensors_default_hooks)
    _saved_tensors_hooks_get_disabled_error_message = staticmethod(_native._saved_tensors_hooks_get_disabled_error_message)
    _saved_tensors_hooks_disable = staticmethod(_native._saved_tensors_hooks_set_disabled)

    @staticmethod
    def _saved_tensors_hooks_enable():
        _native._saved_tensors_hooks_set_disabled(None)


class SymInt(int):
    """A symbolic integer: the number of the call being compiled, and the node that says where it comes from."""

    def __new__(cls, number, node=None):
        self = int.__new__(cls, number)
        self.node = node
        return self

    def _binary(name, plain):
        def forward(self, other):
            result = _native._sym_op(name, self, other)
            return plain(int(self), other) if result is NotImplemented else result

        return forward

    def _reflected(name, plain):
        def reflected(self, other):
            result = _native._sym_op(name, other, self)
            return plain(other, int(self)) if result is NotImplemented else result

        return reflected

    __add__, __radd__ = _binary("add", _operator.add), _reflected("add", _operator.add)
    __sub__, __rsub__ = _binary("sub", _operator.sub), _reflected("sub", _operator.sub)
    __mul__, __rmul__ = _binary("mul", _operator.mul), _reflected("mul", _operator.mul)
    __floordiv__, __rfloordiv__ = _binary("floordiv", _operator.floordiv), _reflected("floordiv", _operator.floordiv)
    __mod__, __rmod__ = _binary("mod", _operator.mod), _reflected("mod", _operator.mod)
    __eq__, __ne__ = _binary("eq", _operator.eq), _binary("ne", _operator.ne)
    __lt__, __le__ = _binary("lt", _operator.lt), _binary("le", _operator.le)
    __gt__, __ge__ = _binary("gt", _operator.gt), _binary("ge", _operator.ge)

    __truediv__, __rtruediv__ = _binary("truediv", _operator.truediv), _reflected("truediv", _operator.truediv)
    __sym_max__, __sym_min__ = _binary("max", max), _binary("min", min)
    del _binary, _reflected

    def __sym_float__(self):
        result = _native._sym_op("float", self, 0)
        return float(int(self)) if result is NotImplemented else result

    def __neg__(self):
        return 0 - self

    def __pos__(self):
        return self

    def __bool__(self):
        return self != 0

    def __hash__(self):
        return int.__hash__(self)

    def __index__(self):
        return self.node.guard_int()

    __int__ = __index__

    def __repr__(self):
        return repr(self.node.guard_int())

    __str__ = __repr__

    def __format__(self, spec):
        return format(self.node.guard_int(), spec)

    def __pow__(self, other, modulus=None):
        if modulus is None and type(other) is int and 0 < other < 8:
            result = self
            for _ in range(other - 1):
                result = result * self
            return result
        return pow(int(self), other, modulus)


class SymFloat(float):
    """A symbolic float: the number of the call being compiled, and the node that says where it comes from."""

    def __new__(cls, number, node=None):
        self = float.__new__(cls, number)
        self.node = node
        return self

    def _binary(name, plain):
        def forward(self, other):
            result = _native._sym_op(name, self, other)
            if result is not NotImplemented or not isinstance(other, (int, float)):
                return result
            return plain(float(self), other)

        return forward

    def _reflected(name, plain):
        def reflected(self, other):
            result = _native._sym_op(name, other, self)
            if result is not NotImplemented or not isinstance(other, (int, float)):
                return result
            return plain(other, float(self))

        return reflected

    __add__, __radd__ = _binary("add", _operator.add), _reflected("add", _operator.add)
    __sub__, __rsub__ = _binary("sub", _operator.sub), _reflected("sub", _operator.sub)
    __mul__, __rmul__ = _binary("mul", _operator.mul), _reflected("mul", _operator.mul)
    __truediv__, __rtruediv__ = _binary("truediv", _operator.truediv), _reflected("truediv", _operator.truediv)
    __pow__, __rpow__ = _binary("pow", _operator.pow), _reflected("pow", _operator.pow)
    __eq__, __ne__ = _binary("eq", _operator.eq), _binary("ne", _operator.ne)
    __lt__, __le__ = _binary("lt", _operator.lt), _binary("le", _operator.le)
    __gt__, __ge__ = _binary("gt", _operator.gt), _binary("ge", _operator.ge)
    del _binary, _reflected

    def __neg__(self):
        return 0.0 - self

    def __pos__(self):
        return self

    def __abs__(self):
        return self if self >= 0 else -self

    def __bool__(self):
        return self != 0.0

    def __hash__(self):
        return float.__hash__(self)

    def __float__(self):
        return self.node.guard_float()

    def __int__(self):
        return int(self.node.guard_float())

    __trunc__ = __int__

    def __floor__(self):
        import math

        return math.floor(self.node.guard_float())

    def __ceil__(self):
        import math

        return math.ceil(self.node.guard_float())

    def __round__(self, digits=None):
        return round(self.node.guard_float(), digits)

    def __floordiv__(self, other):
        return self.node.guard_float() // other

    def __mod__(self, other):
        return self.node.guard_float() % other

    def __repr__(self):
        return repr(self.node.guard_float())

    __str__ = __repr__

    def __format__(self, spec):
        return format(self.node.guard_float(), spec)


class SymBool:
    """A symbolic boolean."""


class _InferenceMode:
    """Inference mode for a block."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        self.before = (_native.is_inference_mode_enabled(), _native.is_grad_enabled())
        _native._set_inference_mode(self.mode)

    def __exit__(self, *exc):
        _native._set_inference_mode(self.before[0])
        _native._set_grad_enabled(self.before[1])


def _parse_to(*args, **kwargs):
    """`(device, dtype, non_blocking, memory_format)` of the arguments of `Module.to`."""
    device = kwargs.get("device")
    dtype = kwargs.get("dtype")
    for arg in args:
        if isinstance(arg, _native.dtype):
            dtype = arg
        elif isinstance(arg, _native.TensorBase):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, (str, int, _native.device)) and not isinstance(arg, bool):
            device = arg
    if device is not None and not isinstance(device, _native.device):
        device = _native.device(device)
    return device, dtype, kwargs.get("non_blocking", False), kwargs.get("memory_format")


_nn.__dict__["_parse_to"] = _parse_to


_function_apply = _native_compile._function_apply


def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    return func(*args, **(kwargs or {}))


def __getattr__(name):
    if hasattr(_native, name):
        value = getattr(_native, name)
    elif (value := _native._dtype(name)) is not None:
        pass
    elif name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"):
        value = _native._memory_format(name)
    elif name == "strided":
        value = _native._strided()
    else:
        raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
    globals()[name] = value
    return value
