"""Elementwise functions of numpy's as functions of tensors."""

import torch
from torch._numpy._operands import at_least_float, axis_of, cast_as, pair, tensor, tensor_or_number, torch_dtype, unsupported

TABLE = {}


def _finished(result, out, casting):
    """What a function returns: the array that it writes to, where one is given."""
    if out is None:
        return result
    target = tensor(out[0] if isinstance(out, tuple) else out)
    result = torch.broadcast_to(cast_as(result, target.dtype, casting), target.shape)
    target.copy_(result)
    return out


def _binary(name, function, takes_numbers):
    def call(x1, x2, out=None, *, where=True, casting="same_kind", order="K", dtype=None, subok=False):
        unsupported(where, True, "where")
        unsupported(order, "K", "order")
        unsupported(subok, False, "subok")
        a, b = tensor_or_number(x1), tensor_or_number(x2)
        dtype = torch_dtype(dtype)
        if dtype is not None:
            a, b = [cast_as(x, dtype, casting) if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=dtype) for x in (a, b)]
        else:
            a, b = pair(a, b, takes_numbers)
        return _finished(function(a, b), out, casting)

    call.__name__ = name
    TABLE[name] = call


def _unary(name, function, of_floats):
    def call(x, out=None, *, where=True, casting="same_kind", order="K", dtype=None, subok=False):
        unsupported(where, True, "where")
        unsupported(order, "K", "order")
        unsupported(subok, False, "subok")
        x, dtype = tensor(x), torch_dtype(dtype)
        if dtype is not None:
            x = cast_as(x, dtype, casting)
        return _finished(function(at_least_float(x) if of_floats else x), out, casting)

    call.__name__ = name
    TABLE[name] = call


# Functions of a tensor and a number; of tensors alone; and those for which a number is an array of its own dtype.
for _name in (
    "add subtract multiply floor_divide divide true_divide remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift "
    "bitwise_right_shift"
).split():
    _binary(_name, getattr(torch, _name), True)
_binary("power", torch.pow, True)
_binary("mod", torch.remainder, True)
_binary("left_shift", torch.bitwise_left_shift, True)
_binary("right_shift", torch.bitwise_right_shift, True)
for _name in "hypot arctan2 logaddexp logaddexp2 heaviside copysign fmax minimum fmin maximum fmod gcd lcm".split():
    _binary(_name, getattr(torch, _name), False)
for _name in "float_power greater greater_equal less less_equal not_equal logical_and logical_or logical_xor nextafter".split():
    _binary(_name, getattr(torch, _name), None)
_binary("equal", torch.eq, None)


for _name in (
    "arccos arccosh arcsin arcsinh arctan arctanh cos cosh deg2rad exp exp2 expm1 log log10 log1p log2 rad2deg reciprocal sin sinh sqrt "
    "square tan tanh trunc"
).split():
    _unary(_name, getattr(torch, _name), True)
_unary("radians", torch.deg2rad, True)
_unary("degrees", torch.rad2deg, True)
_unary("cbrt", lambda x: torch.pow(x, 1 / 3), True)
for _name in "ceil floor isfinite isinf isnan logical_not negative sign signbit".split():
    _unary(_name, getattr(torch, _name), False)
_unary("invert", torch.bitwise_not, False)
_unary("bitwise_not", torch.bitwise_not, False)
_unary("rint", torch.round, False)
_unary("fix", torch.round, False)
_unary("fabs", torch.absolute, False)
_unary("conjugate", torch.conj_physical, False)
_unary("conj", torch.conj_physical, False)
_unary("positive", lambda x: +x, False)
_unary("absolute", lambda x: x if x.dtype is torch.bool else torch.absolute(x), False)
TABLE["abs"] = TABLE["absolute"]


def divmod(x1, x2):
    """Quotient and remainder."""
    a, b = pair(tensor(x1), tensor(x2), True)
    return a // b, a % b


def clip(a, min=None, max=None, out=None, *, a_min=None, a_max=None):
    """Elements within bounds."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    bounds = [None if bound is None else tensor(bound) for bound in (low, high)]
    return _finished(torch.clamp(tensor(a), *bounds), out, "unsafe")


def round(a, decimals=0, out=None):
    """Elements with that many digits after the point."""
    a = tensor(a)
    if a.is_complex():
        result = torch.complex(torch.round(a.real, decimals=decimals), torch.round(a.imag, decimals=decimals))
    else:
        result = torch.round(a, decimals=decimals) if a.is_floating_point() else a
    return _finished(result, out, "unsafe")


def where(condition, x=None, y=None):
    """Elements of one array or of another; without arrays, where elements are true."""
    if (x is None) != (y is None):
        raise ValueError("either both or neither of x and y should be given")
    condition = tensor(condition)
    condition = condition if condition.dtype is torch.bool else condition.to(torch.bool)
    return torch.where(condition) if x is None else torch.where(condition, tensor_or_number(x), tensor_or_number(y))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Numbers for what is none."""
    unsupported(copy, True, "copy")
    x = tensor(x)
    if x.is_complex():
        parts = [torch.nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf) for part in (x.real, x.imag)]
        return parts[0] + 1j * parts[1]
    return torch.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Where elements are almost the same."""
    a, b = pair(tensor(a), tensor(b), True)
    return torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def real(a):
    """The real part."""
    return torch.real(tensor(a))


def imag(a):
    """The imaginary part."""
    a = tensor(a)
    return a.imag if a.is_complex() else torch.zeros_like(a)


def angle(z, deg=False):
    """The argument of complex numbers."""
    result = torch.angle(tensor(z))
    return result * (180 / torch.pi) if deg else result


def sinc(x):
    """sin(pi x) / (pi x)"""
    return torch.sinc(tensor(x))


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours."""
    a = tensor(a)
    axis = axis_of(axis, a.ndim)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if n == 0:
        return a

    def beside(end):
        if end is None:
            return None
        end, shape = tensor(end), list(a.shape)
        shape[axis] = end.shape[axis] if end.ndim else 1
        return torch.broadcast_to(end, shape)

    return torch.diff(a, n, axis, prepend=beside(prepend), append=beside(append))


TABLE.update({f.__name__: f for f in (divmod, clip, round, where, nan_to_num, isclose, real, imag, angle, sinc, diff)})
TABLE["around"] = round
