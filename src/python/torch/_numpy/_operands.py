"""Arguments of numpy's functions as tensors, and the dtypes they come to have (NEP 50)."""

import functools
import operator

import torch
from numpy import _dtypes
from numpy._array import AxisError, ndarray
from numpy._scalars import generic
from torch import _native_compile

NUMBERS = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)


@functools.cache
def _default(name):
    # PyTorch reads them once, too.
    from torch._dynamo import config

    return getattr(torch, getattr(config, f"numpy_default_{name}"))


def default_float():
    """What floats are where nothing else says so: `torch._dynamo.config.numpy_default_float`."""
    return _default("float")


def default_int():
    """The same of integers."""
    return _default("int")


def _default_for(number):
    """The dtype of a number that stands alone."""
    if isinstance(number, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(number, (int, torch.SymInt)):
        return default_int()
    return _default("complex") if isinstance(number, complex) else default_float()


def _alone(number, dtype=None):
    """A number as a tensor: one that varies is specialized."""
    number = number._number() if type(number) in (torch.SymFloat, torch.SymInt) else number
    return torch.as_tensor(number, dtype=_default_for(number) if dtype is None else dtype)


def is_number(x):
    """Whether an argument is a number of Python's, which takes the dtype of what it meets."""
    return isinstance(x, NUMBERS)


def torch_dtype(spec):
    """The dtype of a tensor that numpy's stands for."""
    return None if spec is None else _dtypes.resolve(spec)._torch


def plain(x):
    """Arrays and numpy's scalars in an argument as tensors; the rest as it is."""
    if isinstance(x, (ndarray, generic)):
        t = x.__torch_input__()
        _native_compile._become_inputs(t)
        return t
    if type(x) in (list, tuple):
        return type(x)(map(plain, x))
    return x


def tensor(x, dtype=None):
    """An argument that is an array, or could become one, as a tensor."""
    x = plain(x)
    if not isinstance(x, torch.Tensor):
        x = _of_numbers(x)
    return cast(x, dtype)


def _of_numbers(x):
    if isinstance(x, (list, tuple)) and x and all(isinstance(item, torch.Tensor) for item in x):
        return torch.stack(list(x))
    # Numbers are read with numpy's precision.
    before = torch.get_default_dtype()
    torch.set_default_dtype(default_float())
    try:
        return torch.as_tensor(x)
    finally:
        torch.set_default_dtype(before)


def tensor_or_number(x):
    """The same, but numbers of Python's stay numbers."""
    x = plain(x)
    return x if is_number(x) else tensor(x)


def cast(t, dtype):
    """A tensor of that dtype, where one is asked for."""
    return t if dtype is None or t.dtype == dtype else t.to(dtype)


def cast_as(t, dtype, casting):
    """The same under one of numpy's rules of casting."""
    if not _dtypes.can_cast(_dtypes.OF_TORCH[t.dtype], _dtypes.OF_TORCH[dtype], casting):
        raise TypeError(f"Cannot cast array data from {t.dtype} to {dtype} according to the rule '{casting}'")
    return cast(t, dtype)


def at_least_float(t):
    """Integers and truth values as floats."""
    return t if t.is_floating_point() or t.is_complex() else t.to(default_float())


def result_type(*tensors):
    """The dtype that tensors have in common."""
    found = _dtypes.OF_TORCH[tensors[0].dtype]
    for t in tensors[1:]:
        found = _dtypes.promote(found, _dtypes.OF_TORCH[t.dtype])
    return found._torch


def same_type(*tensors):
    """Tensors with the dtype that they have in common."""
    dtype = result_type(*tensors)
    return [cast(t, dtype) for t in tensors]


_KINDS = "b iu f c".split()


def _rank(dtype):
    """Truth values, integers, floats, complex numbers."""
    kind = _dtypes.OF_TORCH[dtype].kind
    return next(i for i, kinds in enumerate(_KINDS) if kind in kinds)


def pair(a, b, takes_numbers):
    """Two operands as a function takes them: a number beside a tensor has the tensor's dtype where that can hold it. `takes_numbers` says
    whether the function computes with a number that already has the tensor's dtype as one."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return same_type(a, b)
    if is_number(a) and is_number(b):
        return [_alone(a), _alone(b)]
    number, t = (a, b) if is_number(a) else (b, a)
    if takes_numbers is None:
        found = _alone(number)
    else:
        found = _beside(number, t, takes_numbers)
    return [found, t] if is_number(a) else [t, found]


def _beside(number, t, takes_numbers):
    wide = {float: torch.float64, torch.SymFloat: torch.float64, complex: torch.complex128}.get(type(number), torch.int64)
    wide = torch.bool if isinstance(number, (bool, torch.SymBool)) else wide
    dtype = t.dtype if _rank(wide) <= _rank(t.dtype) else None
    if wide is torch.complex128 and t.dtype is torch.float32:
        dtype = torch.complex64
    if _rank(wide) == _rank(t.dtype) == 1:
        limits = torch.iinfo(t.dtype)
        if not limits.min <= number <= limits.max:
            raise OverflowError(f"Python integer {number} out of bounds for {t.dtype}")
    if dtype is wide and takes_numbers:
        return number
    return _alone(number, dtype)


def axis_of(axis, dims):
    """An axis counted from the front."""
    axis = operator.index(axis)
    if not -dims <= axis < dims:
        raise AxisError(axis, dims)
    return axis + dims if axis < 0 else axis


def axes_of(axis, dims, repeated=False):
    """One axis or several, counted from the front."""
    axes = tuple(axis_of(a, dims) for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if not repeated and len(set(axes)) != len(axes):
        raise ValueError("repeated axis")
    return axes


def one_axis(axis):
    """An axis that is alone in its tuple."""
    if isinstance(axis, (tuple, list)):
        if len(axis) != 1:
            raise NotImplementedError("does not handle tuple axis")
        return axis[0]
    return axis


def flat_without_axis(t, axis):
    """Without an axis a function goes through all elements in order."""
    return (t.flatten(), 0) if axis is None else (t, axis_of(axis, t.ndim))


def sizes_of(shape):
    """Sizes as a tuple."""
    return (shape,) if isinstance(shape, (int, torch.SymInt)) else tuple(shape)


def unsupported(given, default, name):
    """An argument of numpy's that nothing is computed with here."""
    if given is not default and given != default:
        raise NotImplementedError(f"'{name}' parameter is not supported.")
