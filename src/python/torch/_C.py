"""What PyTorch keeps in its C++ extension: names of `torch._native` (Rust), and the namespaces of operators."""

import builtins as _builtins
import math as _math
import operator as _operator

from torch import _native, _native_compile, _native_subclass, _native_torch_function
from torch._tensor import Size, Tensor


class _Operators:
    """A namespace in which every operator of the catalogue is a function, made when it is first used."""

    def __init__(self, prefix):
        self.__dict__["_prefix"] = prefix

    def __getattr__(self, name):
        # Products of sparse matrices, of old; of others they are plain ones.
        operator = "mm" if name in ("spmm", "dsmm") else name
        found = None if name.startswith("__") else _native._function(operator, self._prefix)
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
    _top_saved_tensors_default_hooks = staticmethod(_native._top_saved_tensors_default_hooks)
    _pop_saved_tensors_default_hooks = staticmethod(_native._pop_saved_tensors_default_hooks)
    _saved_tensors_hooks_get_disabled_error_message = staticmethod(_native._saved_tensors_hooks_get_disabled_error_message)
    SavedTensor = _native.SavedTensor
    _make_saved_tensor = staticmethod(_native._make_saved_tensor)
    _saved_tensors_hooks_disable = staticmethod(_native._saved_tensors_hooks_disable)
    _saved_tensors_hooks_enable = staticmethod(_native._saved_tensors_hooks_enable)


class _SymNumber:
    """What symbolic numbers have in common. Arithmetic and comparison go to the node; whoever reads the number asks the node, which
    guards on it. It is no `int` and no `float`, so that nothing reads a number without a guard, but says that it is one."""

    def __init__(self, node):
        self.node = node

    def _binary(name, plain):
        def forward(self, other):
            result = _native._sym_op(name, self, other)
            if result is not NotImplemented or not isinstance(other, (int, float)):
                return result
            return plain(self._number(), other)

        return forward

    def _reflected(name, plain):
        def reflected(self, other):
            result = _native._sym_op(name, other, self)
            if result is not NotImplemented or not isinstance(other, (int, float)):
                return result
            return plain(other, self._number())

        return reflected

    for _name in ("add", "sub", "mul", "floordiv", "mod", "truediv", "pow"):
        _plain = getattr(_operator, _name)
        locals()[f"__{_name}__"], locals()[f"__r{_name}__"] = _binary(_name, _plain), _reflected(_name, _plain)
    for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
        locals()[f"__{_name}__"] = _binary(_name, getattr(_operator, _name))
    __sym_max__, __sym_min__ = _binary("max", max), _binary("min", min)

    def _of_numbers(name):
        plain = getattr(_operator, name, None) or divmod
        return (lambda self, other: plain(self._number(), other)), (lambda self, other: plain(other, self._number()))

    for _name in ("divmod", "lshift", "rshift"):
        _dunder = _name.rstrip("_")
        locals()[f"__{_dunder}__"], locals()[f"__r{_dunder}__"] = _of_numbers(_name)
    del _binary, _reflected, _of_numbers, _name, _plain, _dunder

    def __neg__(self):
        result = _native._sym_op("neg", self, 0)
        return 0 - self if result is NotImplemented else result

    def __pos__(self):
        return self

    conjugate = __pos__

    def __abs__(self):
        return self if self >= 0 else -self

    def __bool__(self):
        return bool(self != 0)

    def __hash__(self):
        return hash(self._number())

    def __int__(self):
        return int(self._number())

    def _rounded(name):
        plain = getattr(_math, name)

        def rounded(self):
            result = _native._sym_op(name, self, 0)
            return plain(self._number()) if result is NotImplemented else result

        return rounded

    __trunc__, __floor__, __ceil__ = _rounded("trunc"), _rounded("floor"), _rounded("ceil")
    del _rounded

    def __float__(self):
        return float(self._number())

    def __round__(self, digits=None):
        return round(self._number(), digits)

    def __repr__(self):
        return self.node.text()

    __str__ = __repr__

    def __format__(self, spec):
        # Dynamo formats the number as a text, which knows no format code of numbers.
        if spec and self.node.is_recorded():
            try:
                return format(repr(self), spec)
            except ValueError as error:
                from torch._dynamo.exc import InternalTorchDynamoError

                raise InternalTorchDynamoError(f"ValueError: {error}") from None
        return format(self._number(), spec) if spec else repr(self)

    def __reduce__(self):
        return type(self._number()), (self._number(),)


def _is_symbolic_or_int(value):
    return type(value) in (int, SymInt)


class SymInt(_SymNumber):
    """A symbolic integer."""

    __module__ = "torch"
    __class__ = property(lambda self: int)

    def _number(self):
        return self.node.guard_int()

    __index__ = _number

    def __sym_float__(self):
        result = _native._sym_op("float", self, 0)
        return float(self._number()) if result is NotImplemented else result

    def __pow__(self, other, modulus=None):
        is_power = type(other) in (float, SymFloat) or other > 0
        if modulus is None and is_power:
            return _native._sym_op("pow", self, other)
        return pow(self._number(), other, modulus)

    def __rpow__(self, base, modulus=None):
        if modulus is None and type(base) is int and self >= 0:
            return _native._sym_op("pow", base, self)
        return pow(base, self._number(), modulus)

    def __lshift__(self, other):
        return _native._sym_op("lshift", self, other) if other >= 0 else self._number() << other

    def __rlshift__(self, other):
        return _native._sym_op("lshift", other, self) if type(other) is int and self >= 0 else other << self._number()

    numerator = real = property(lambda self: self)
    denominator = property(lambda self: 1)
    imag = property(lambda self: 0)

    def __rshift__(self, other):
        return _native._sym_op("rshift", self, other) if other >= 0 else self._number() >> other

    def __rrshift__(self, other):
        return _native._sym_op("rshift", other, self) if type(other) is int and self >= 0 else other >> self._number()

    def _of_bits(name):
        plain = getattr(_operator, name)

        def forward(self, other):
            return _native._sym_op(name, self, other) if _is_symbolic_or_int(other) else plain(self._number(), other)

        def reflected(self, other):
            # The order of two does not count: a number stands last.
            return _native._sym_op(name, self, other) if _is_symbolic_or_int(other) else plain(other, self._number())

        return forward, reflected

    __and__, __rand__ = _of_bits("and_")
    __or__, __ror__ = _of_bits("or_")
    __xor__, __rxor__ = _of_bits("xor")
    del _of_bits

    def __invert__(self):
        return ~self._number()

    def __abs__(self):
        return _native._sym_op("abs", self, 0)

    def bit_length(self):
        return self._number().bit_length()

    def bit_count(self):
        return self._number().bit_count()

    def as_integer_ratio(self):
        return self._number().as_integer_ratio()

    def to_bytes(self, *args, **kwargs):
        return self._number().to_bytes(*args, **kwargs)


class SymFloat(_SymNumber):
    """A symbolic float."""

    __module__ = "torch"
    __class__ = property(lambda self: float)

    def _number(self):
        return self.node.guard_float()

    def __round__(self, digits=None):
        result = _native._sym_op("round_to_int", self, 0) if digits is None else _native._sym_op("round", self, digits)
        return round(self._number(), digits) if result is NotImplemented else result

    real = property(lambda self: self)
    imag = property(lambda self: 0.0)

    def _of_number(name):
        return lambda self: getattr(self._number(), name)()

    as_integer_ratio, hex, is_integer = _of_number("as_integer_ratio"), _of_number("hex"), _of_number("is_integer")
    del _of_number


class SymBool:
    """A condition on symbolic numbers. Whoever decides by it has a guard, or breaks the graph where only the run knows the numbers."""

    __class__ = property(lambda self: bool if _native_compile._is_capturing() else SymBool)

    def __init__(self, node):
        self.node = node

    def __bool__(self):
        return self.node.guard_bool()

    def _of_numbers(name):
        plain = getattr(_operator, name)
        return (lambda self, other: plain(bool(self), other)), (lambda self, other: plain(other, bool(self)))

    for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"):
        _dunder = _name.rstrip("_")
        locals()[f"__{_dunder}__"], locals()[f"__r{_dunder}__"] = _of_numbers(_name)
    for _name in ("lt", "le", "gt", "ge"):
        locals()[f"__{_name}__"] = _of_numbers(_name)[0]
    for _name in ("neg", "pos", "invert", "abs"):
        locals()[f"__{_name}__"] = (lambda plain: lambda self: plain(bool(self)))(getattr(_operator, _name))
    del _of_numbers, _name, _dunder

    def __int__(self):
        return int(bool(self))

    __index__ = __int__

    def __float__(self):
        return float(bool(self))

    def __sym_not__(self):
        return self.node.negated()

    def __and__(self, other):
        return bool(self) and bool(other)

    def __or__(self, other):
        return bool(self) or bool(other)

    def __eq__(self, other):
        return bool(self) == other

    def __hash__(self):
        return hash(bool(self))

    def __repr__(self):
        return self.node.text()


class _InferenceMode:
    """Inference mode for a block."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        self.before = (_native.is_inference_mode_enabled(), _native.is_grad_enabled())
        # In a graph that is recorded it is a block without gradients.
        self.is_recorded = self.mode and _native_compile._enter_inference_mode()
        if not self.is_recorded:
            _native._set_inference_mode(self.mode)

    def __exit__(self, *exc):
        if self.is_recorded:
            _native_compile._exit_inference_mode(self.before[1])
            return
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
_function_apply_in_level = _native_compile._function_apply_in_level
_DisableTorchDispatch = _native_subclass.DisableTorchDispatch
_disabled_torch_dispatch_impl = Tensor.__torch_dispatch__


def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


_native_torch_function.set_plain(_disabled_torch_function_impl)


class DisableTorchFunctionSubclass:
    """In such a block the classes of tensors are not asked about calls."""

    _level = 1

    def __enter__(self):
        self._before = _native_torch_function.disable(self._level)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        _native_torch_function.restore(self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """In such a block neither classes nor modes are asked about calls."""

    _level = 2


def _is_torch_function_enabled():
    return _native_torch_function.disabled() == 0


def _is_torch_function_all_disabled():
    return _native_torch_function.disabled() == 2


def _is_torch_function_mode_enabled():
    return not _is_torch_function_all_disabled() and bool(_native_torch_function.modes_in_force())


def _len_torch_function_stack():
    return len(_native_torch_function.modes_in_force())


def _get_function_stack_at(level):
    return _native_torch_function.modes_in_force()[level]


_push_on_torch_function_stack = _native_torch_function.push_mode
_pop_torch_function_stack = _native_torch_function.pop_mode


_OF_KEYS = ("DispatchKey", "DispatchKeySet", "_dispatch_keys", "_AutoDispatchBelowAutograd", "_ExcludeDispatchKeyGuard", "ExcludeDispatchKeyGuard")


def __getattr__(name):
    if name in _OF_KEYS:
        from torch import _keys

        value = getattr(_keys, name)
    elif hasattr(_native, name):
        value = getattr(_native, name)
    elif (value := _native._dtype(name)) is not None:
        pass
    elif name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"):
        value = _native._memory_format(name)
    elif name == "strided":
        value = _native._strided()
    else:
        raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
    if not hasattr(_builtins, name):
        # `torch.float` is found anew each time: stored, it would stand for Python's own `float` in this module.
        globals()[name] = value
    return value
