"""Scalars: `np.float64(1.0)`, `np.int64(3)`, `np.True_`. One is a number with a dtype; arithmetic keeps the dtype."""

import math
import operator

import torch
from torch import _native_compile

from numpy import _dtypes
from numpy._capture import _is_compiling, beside_tensor, captured, outside, shown_operator, traces


class generic:
    """The base of all scalars."""

    __slots__ = ("_value", "_held")
    __module__ = "numpy"
    __array_priority__ = -1000000.0
    ndim, shape, size, strides = 0, (), 1, ()
    base = None

    def __new__(cls, value=0):
        if cls._dtype is None:
            raise TypeError(f"cannot create '{cls.__module__}.{cls.__name__}' instances")
        if _is_compiling():
            return captured("numpy", cls.__name__, scalar, (value, cls._dtype))
        return scalar(value, cls._dtype)

    @property
    def dtype(self):
        return self._dtype

    @property
    def itemsize(self):
        return self._dtype.itemsize

    nbytes = itemsize

    @property
    def T(self):
        return self

    @property
    def real(self):
        return self if self._dtype.kind != "c" else _part(self, "real")

    @property
    def imag(self):
        return type(self)(0) if self._dtype.kind != "c" else _part(self, "imag")

    def item(self, *_index):
        return self._read()

    def _read(self):
        """Its number, as one of Python's: a graph that is captured is guarded on that."""
        if _is_compiling() and traces():
            _native_compile._guard_on_number(self.__torch_input__())
        return self._value

    tolist = item

    def __array__(self, dtype=None, copy=None):
        return _array(self, dtype)

    def __torch_array__(self):
        return _array(self).__torch_array__()

    def __torch_input__(self):
        """The tensor that a captured graph has it as: one, however often it is read."""
        try:
            held = self._held
        except AttributeError:
            from numpy._array import _array

            with _native_compile._suspended():
                held = self._held = _array(self).__torch_array__()
        return held

    def __getattr__(self, name):
        from numpy._array import SHARED_WITH_SCALARS

        if name in SHARED_WITH_SCALARS:
            return _as_scalar(getattr(_array(self), name))
        raise AttributeError(f"'numpy.{type(self).__name__}' object has no attribute '{name}'")

    def __getitem__(self, index):
        if index == ():
            return self
        if index is None or index is Ellipsis or isinstance(index, tuple) and all(i is None or i is Ellipsis for i in index):
            return _array(self)[index]
        raise IndexError("invalid index to scalar variable.")

    def __bool__(self):
        return outside(_truth, self) if _is_compiling() else bool(self._value)

    def __int__(self):
        return int(self._read())

    def __float__(self):
        return float(self._read())

    def __complex__(self):
        return complex(self._read())

    def __hash__(self):
        return hash(self._read())

    def __format__(self, spec):
        return format(self._read(), spec) if spec or self._dtype.kind != "b" else str(self)

    def __round__(self, digits=None):
        if digits is None and self._dtype.kind != "c":
            return round(self._read())
        from numpy._functions import round as rounded

        return rounded(self, digits or 0)

    def __trunc__(self):
        return math.trunc(self._read())

    def __floor__(self):
        return math.floor(self._read())

    def __ceil__(self):
        return math.ceil(self._read())

    def __str__(self):
        from numpy._printing import text_of

        return text_of(self._read(), self._dtype)

    def __repr__(self):
        if self._dtype.kind == "b":
            return f"np.{self._value}_"
        text = str(self)
        return f"np.{type(self).__name__}({text[1:-1] if text[0] == '(' else text})"

    def __reduce__(self):
        return type(self), (self._value,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self


def _truth(scalar):
    return bool(scalar._value)


_truth.__name__ = "__bool__"


def _array(value, dtype=None):
    from numpy._array import array

    return array(value, dtype)


def _as_scalar(method):
    """A method of arrays that returns scalars."""
    if not callable(method):
        return method

    def call(*args, **kwargs):
        result = method(*args, **kwargs)
        return result[()] if getattr(result, "ndim", None) == 0 else result

    return call


def _part(value, name):
    return scalar(getattr(value._value, name), _dtypes.FLOAT32 if value._dtype is _dtypes.COMPLEX64 else _dtypes.FLOAT64)


class number(generic):
    """Numbers."""


class integer(number):
    """Integers."""

    def __index__(self):
        return self._read()

    def is_integer(self):
        return True

    def bit_count(self):
        return abs(self._value).bit_count()

    numerator = property(lambda self: self)
    denominator = property(lambda self: type(self)(1))


class signedinteger(integer):
    """Integers with a sign."""


class unsignedinteger(integer):
    """Integers without a sign."""


class inexact(number):
    """Numbers that are rounded."""


class floating(inexact):
    """Floats."""

    def is_integer(self):
        return float(self._value).is_integer()

    def as_integer_ratio(self):
        return float(self._value).as_integer_ratio()


class complexfloating(inexact):
    """Complex numbers."""


class flexible(generic):
    """Texts and records, which are not here."""


class character(flexible):
    """Texts, which are not here."""


class bool_(generic):
    """Truth values."""

    def __index__(self):
        raise TypeError("'numpy.bool' object cannot be interpreted as an integer")


bool_.__name__ = bool_.__qualname__ = "bool"


class float64(floating, float):
    """Floats of Python's."""

    __slots__ = ("_held",)

    @property
    def _value(self):
        return float.__float__(self)

    def __hash__(self):
        return hash(self._read())


class complex128(complexfloating, complex):
    """Complex numbers of Python's."""

    __slots__ = ("_held",)

    @property
    def _value(self):
        return complex(complex.real.__get__(self), complex.imag.__get__(self))

    __hash__ = complex.__hash__


generic._dtype = None
for _type in (number, integer, signedinteger, unsignedinteger, inexact, floating, complexfloating, flexible, character, bool_, float64, complex128):
    _type.__module__ = "numpy"
TYPES = {"float64": float64, "complex128": complex128, "bool": bool_}
for _dtype in _dtypes.ALL:
    _base = {"i": signedinteger, "u": unsignedinteger, "f": floating, "c": complexfloating, "b": generic}[_dtype.kind]
    _type = TYPES.get(_dtype.name)
    if _type is None:
        _type = TYPES[_dtype.name] = type(_dtype.name, (_base,), {"__slots__": (), "__module__": "numpy"})
    _type._dtype, _dtype.type, _dtypes._BY_SPEC[_type] = _dtype, _type, _dtype
for _type, _name in ((number, "float64"), (integer, "int64"), (signedinteger, "int64"), (inexact, "float64"), (floating, "float64")):
    _dtypes._BY_SPEC[_type] = _dtypes._BY_SPEC[_name]
_dtypes._BY_SPEC[complexfloating] = _dtypes.COMPLEX128


def make(value, dtype):
    """The scalar of a value that is one of the dtype's."""
    kind = dtype.type
    if kind is float64:
        return float.__new__(float64, value)
    if kind is complex128:
        return complex.__new__(complex128, value)
    made = object.__new__(kind)
    made._value = value
    return made


def rounded(value, dtype):
    """A float or complex number as one of a dtype."""
    if dtype.itemsize == 8 and dtype.kind == "f" or dtype.itemsize == 16:
        return value
    return torch.tensor(value, dtype=dtype._torch).item()


def scalar(value, dtype):
    """What `np.float32(value)` makes."""
    if isinstance(value, generic):
        value = value._value
    kind = dtype.kind
    if isinstance(value, (str, bytes)):
        value = bool(value) if kind == "b" else int(value) if kind in "iu" else float(value) if kind == "f" else complex(value)
    if not isinstance(value, (bool, int, float, complex)):
        if hasattr(value, "__index__") and not hasattr(value, "__array__"):
            value = operator.index(value)
        elif hasattr(value, "__float__") and not hasattr(value, "__array__") and not hasattr(value, "__len__"):
            value = float(value)
        else:
            from numpy._array import array

            made = array(value, dtype)
            return made[()]
    if kind == "b":
        return TRUE if value else FALSE
    if kind in "iu":
        value = int(value)
        low, high = _dtypes.bounds(dtype)
        if not low <= value <= high:
            raise OverflowError(f"Python integer {value} out of bounds for {dtype.name}")
        return make(value, dtype)
    return make(rounded(float(value) if kind == "f" else complex(value), dtype), dtype)


TRUE, FALSE = make(True, _dtypes.BOOL), make(False, _dtypes.BOOL)

_PLAIN = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
}


def _plain(name, a, b):
    """The operation on two numbers that Python computes as numpy does; None for others."""
    function, kind, other = _PLAIN.get(name), a._dtype, type(b)
    if function is None or kind is not _dtypes.FLOAT64 and kind is not _dtypes.INT64:
        return None
    if other is float64 or other is float or other is int and -(2**53) < b < 2**53:
        if kind is _dtypes.INT64 and other is not int:
            return None
        b = float(b) if kind is _dtypes.FLOAT64 else b
    elif isinstance(b, generic) and b._dtype is kind:
        b = b._value
    else:
        return None
    result = function(a._value, b)
    if result is True or result is False:
        return TRUE if result else FALSE
    if kind is _dtypes.INT64 and not -(2**63) <= result < 2**63:
        return None
    return make(result, kind)


def _binary(name, symbol):
    def method(self, other):
        if _is_compiling():
            if isinstance(other, torch.Tensor) and traces():
                return beside_tensor(symbol, self, other)
            return captured("numpy", name, compute, (self, other), shown=shown_operator(symbol))
        found = _plain(name, self, other)
        return compute(self, other) if found is None else found

    def compute(self, other):
        from numpy import _ufuncs

        return _ufuncs.operator_of(name)(self, other)

    return method


def _reflected(name, symbol):
    def method(self, other):
        if _is_compiling():
            if isinstance(other, torch.Tensor) and traces():
                return beside_tensor(symbol, other, self)
            return captured("numpy", name, lambda *_: compute(self, other), (other, self), shown=shown_operator(symbol))
        return compute(self, other)

    def compute(self, other):
        from numpy import _ufuncs

        return _ufuncs.reflected_of(name)(self, other)

    return method


def _unary(name):
    def method(self):
        from numpy import _ufuncs

        return getattr(_ufuncs, name)(self)

    return method


OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder", "pow": "power",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
}
COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}
UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}
for _name, _ufunc in {**OPERATORS, **COMPARISONS, "matmul": "matmul"}.items():
    setattr(generic, f"__{_name}__", _binary(_ufunc, f"__{_name}__"))
    for _subclass in (float64, complex128):
        setattr(_subclass, f"__{_name}__", getattr(generic, f"__{_name}__"))
for _name, _ufunc in {**OPERATORS, "matmul": "matmul"}.items():
    setattr(generic, f"__r{_name}__", _reflected(_ufunc, f"__{_name}__"))
for _name, _ufunc in UNARY.items():
    setattr(generic, f"__{_name}__", _unary(_ufunc))
generic.__hash__ = generic.__dict__["__hash__"] if "__hash__" in generic.__dict__ else object.__hash__
