"""Universal functions: elementwise, with broadcasting, promotion and `out`, `where`, `dtype`.

A function here says which dtype its operands come to have (its rule) and what PyTorch computes of them then.
"""

import torch

from numpy import _dtypes
from numpy._absent import unavailable
from numpy._array import _text, asarray, box, cast, ndarray, operand, tensor_of, wrapped
from numpy._capture import _is_compiling, captured
from numpy._dtypes import BOOL, FLOAT64, INT64, OF_WEAK, promote, resolve, with_weak
from numpy._scalars import generic


def common(operands):
    """The dtype that operands have in common."""
    strong, weak = None, ""
    for _, dtype, kind in operands:
        if dtype is not None:
            strong = dtype if strong is None else promote(strong, dtype)
        elif not weak or "ifc".index(kind) > "ifc".index(weak):
            weak = kind
    if strong is None:
        return OF_WEAK[weak]
    return with_weak(strong, weak) if weak else strong


def as_float(dtype):
    """What functions of floats make of a dtype."""
    if dtype.kind in "fc":
        return dtype
    return _dtypes._BY_SPEC[{1: "float16", 2: "float32"}.get(dtype.itemsize, "float64")]


class UFuncTypeError(TypeError):
    """A dtype that a function does not take."""


class ufunc:
    """An elementwise function."""

    def __init__(self, name, nin, rule, function, identity=None):
        self.__name__ = self.__qualname__ = name
        self.nin, self.nout, self.nargs, self.identity = nin, 1, nin + 1, identity
        self._rule, self._function, self._of_bools = rule, function, None

    def __repr__(self):
        return f"<ufunc '{self.__name__}'>"

    def __call__(self, *args, **kwargs):
        if _is_compiling():
            return captured("numpy", self.__name__, self._call, args, kwargs)
        return self._call(*args, **kwargs)

    def _call(self, *args, out=None, where=True, dtype=None, casting="same_kind", order="K", subok=True):
        if len(args) == self.nin + 1 and out is None:
            *args, out = args
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}() takes from {self.nin} to {self.nin + 1} positional arguments but {len(args)} were given")
        operands = [operand(a) for a in args]
        t, result = self._compute(operands, None if dtype is None else resolve(dtype))
        if out is not None or where is not True:
            out = out[0] if isinstance(out, tuple) else out
            return self._put(t, result, out, where, casting)
        if any(isinstance(a, torch.Tensor) for a in args):
            return (t.to(torch.uint8) if result is BOOL else t).clone() if t.is_set_to(operands[0][0]) else _plain_tensor(t, result)
        return box(t, result)

    def _compute(self, operands, dtype=None):
        """The tensor of the results, and their dtype."""
        found = common(operands)
        work, result = self._rule(self, found if dtype is None else dtype, operands)
        tensors = [tensor_of(o, work) for o in operands]
        function = self._function if work is not BOOL or self._of_bools is None else self._of_bools
        try:
            t = function(*tensors)
        except RuntimeError:
            _check_shapes(tensors)
            raise
        return wrapped(t.to(result._torch) if t.dtype != result._torch else t, result), result

    def _put(self, t, result, out, where, casting):
        if out is None:
            out = ndarray(torch.zeros(t.shape, dtype=t.dtype), result)
        if not isinstance(out, ndarray):
            raise TypeError("return arrays must be of ArrayType")
        if not _dtypes.can_cast(result, out._dtype, casting):
            raise UFuncTypeError(
                f"Cannot cast ufunc '{self.__name__}' output from {result!r} to {out._dtype!r} with casting rule '{casting}'"
            )
        if where is not True:
            t = torch.where(asarray(where, BOOL)._t, cast(t, result, out._dtype), out._t)
            result = out._dtype
        if torch.broadcast_shapes(t.shape, out.shape) != out.shape:
            raise ValueError(f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape {tuple(t.shape)}")
        out._write(cast(t, result, out._dtype))
        return out

    # What is made of a function of two operands

    def _binary_only(self, what):
        if self.nin != 2:
            raise ValueError(f"{what} only supported for binary functions")

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
        from numpy import _reductions

        self._binary_only("reduce")
        known = {
            "add": _reductions.sum, "multiply": _reductions.prod, "maximum": _reductions.max, "minimum": _reductions.min,
            "logical_and": _reductions.all, "logical_or": _reductions.any,
        }.get(self.__name__)
        if initial is not None or where is not True:
            raise unavailable(f"{self.__name__}.reduce with initial or where")
        if known is not None and dtype is None:
            return known(array, axis=axis, out=out, keepdims=keepdims)
        a = asarray(array, dtype)
        if axis is None:
            a, axis = a.reshape(-1), 0
        parts = [a.take(i, axis=axis) for i in range(a.shape[axis])]
        result = parts[0] if parts else a.sum(axis=axis)
        for part in parts[1:]:
            result = self(result, part)
        return asarray(result).reshape(_reductions.kept(a.shape, axis)) if keepdims else result

    def accumulate(self, array, axis=0, dtype=None, out=None):
        from numpy import _functions

        self._binary_only("accumulate")
        a = asarray(array, dtype)
        rows, result = _functions.moveaxis(a, axis, 0), []
        for row in rows:
            result.append(self(result[-1], row) if result else row)
        made = _functions.moveaxis(_functions.stack(result), 0, axis) if result else a.copy()
        if out is not None:
            out[...] = made
        return made if out is None else out

    def outer(self, a, b, **kwargs):
        self._binary_only("outer operation")
        a, b = asarray(a), asarray(b)
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)

    def at(self, a, indices, b=None):
        if not isinstance(a, ndarray):
            raise TypeError("first operand must be array")
        if self.nin == 1:
            a[indices] = self(a[indices])
            return
        from numpy._array import array
        from numpy._functions import arange, broadcast_to

        positions = arange(a.size).reshape(a.shape)[indices].reshape(-1)
        shape = arange(a.size).reshape(a.shape)[indices].shape
        values = broadcast_to(asarray(b), shape).reshape(-1)
        flat = array(a).reshape(-1)
        if self.__name__ in ("add", "subtract") and _dtypes.can_cast(values.dtype, a.dtype, "same_kind"):
            source = cast(values._t, values._dtype, a._dtype)
            flat._p.index_add_(0, positions._t, source if self.__name__ == "add" else -source)
        else:
            for i, value in zip(positions.tolist(), values):
                flat[i] = self(flat[i], value)
        a[...] = flat.reshape(a.shape)


def _check_shapes(tensors):
    try:
        torch.broadcast_shapes(*(t.shape for t in tensors))
    except RuntimeError:
        shapes = "".join(f"{_text(t.shape)} " for t in tensors)
        raise ValueError(f"operands could not be broadcast together with shapes {shapes}") from None


def _plain_tensor(t, result):
    return t.to(torch.uint8) if result is BOOL else t


# Rules: what operands become, and of what dtype the result is


def _same(function, dtype, operands):
    return dtype, dtype


def _no_bools(function, dtype, operands):
    if dtype is BOOL:
        name, instead = f"numpy boolean {function.__name__}", "the bitwise_xor, the `^` operator, or the logical_xor function instead"
        if function.__name__ == "negative":
            name, instead = "The numpy boolean negative", "the `~` operator or the logical_not function instead"
        raise TypeError(f"{name}, the `-` operator, is not supported, use {instead}.")
    return dtype, dtype


def _numbers(function, dtype, operands):
    """Truth values count as integers of 8 bits."""
    return (_dtypes._BY_SPEC["int8"],) * 2 if dtype is BOOL else (dtype, dtype)


def _quotient(function, dtype, operands):
    return (dtype, dtype) if dtype.kind in "fc" else (FLOAT64, FLOAT64)


def _floats(function, dtype, operands):
    dtype = as_float(dtype)
    return dtype, dtype


def _real_floats(function, dtype, operands):
    if dtype.kind == "c":
        raise _not_supported(function)
    return _floats(function, dtype, operands)


def _truth(function, dtype, operands):
    return dtype, BOOL


def _comparison(function, dtype, operands):
    # A number of Python's that a dtype of integers does not hold is compared all the same.
    if dtype.kind in "iu" and any(d is None and not (lambda b: b[0] <= v <= b[1])(_dtypes.bounds(dtype)) for v, d, _ in operands):
        return FLOAT64 if any(d is None and not -(2**63) <= v < 2**63 for v, d, _ in operands) else INT64, BOOL
    return dtype, BOOL


def _logical(function, dtype, operands):
    return BOOL, BOOL


def _bits(function, dtype, operands):
    if dtype.kind in "fc":
        raise _not_supported(function)
    return dtype, dtype


def _absolute(function, dtype, operands):
    return dtype, _dtypes._BY_SPEC[f"f{dtype.itemsize // 2}"] if dtype.kind == "c" else dtype


def _whole(function, dtype, operands):
    if dtype.kind == "c":
        raise _not_supported(function)
    return dtype, dtype


def _not_supported(function):
    return TypeError(
        f"ufunc '{function.__name__}' not supported for the input types, and the inputs could not be safely coerced to any supported types "
        "according to the casting rule ''safe''"
    )


# Functions


def _zero_free(function):
    """Integers divided by zero are zero."""

    def divide(a, b):
        if a.dtype.is_floating_point:
            return function(a, b)
        zero = b == 0
        if not bool(zero.any()):
            return function(a, b)
        return torch.where(zero, torch.zeros((), dtype=a.dtype), function(a, torch.where(zero, torch.ones((), dtype=b.dtype), b)))

    return divide


def _power(a, b):
    if not a.dtype.is_floating_point and not a.dtype.is_complex and bool((b < 0).any()):
        raise ValueError("Integers to negative integer powers are not allowed.")
    return torch.pow(a, b.item() if b.dim() == 0 and a.dim() > 0 else b)


def _sign(a):
    return torch.where(a != a, a, torch.sign(a)) if a.dtype.is_floating_point else torch.sgn(a)


def _reciprocal(a):
    return torch.reciprocal(a) if a.dtype.is_floating_point or a.dtype.is_complex else torch.div(1, a, rounding_mode="trunc")


def _only_floats(function):
    return lambda a: function(a) if a.dtype.is_floating_point else a.clone()


def _heaviside(a, b):
    return torch.where(a != a, a, torch.heaviside(a, b))


ALL = {}


def _define(name, nin, rule, function, *aliases, identity=None, of_bools=None):
    made = ufunc(name, nin, rule, function, identity)
    if of_bools is not None:
        made._of_bools = of_bools
    for alias in (name, *aliases):
        ALL[alias] = globals()[alias] = made


_define("add", 2, _same, torch.add, identity=0, of_bools=torch.logical_or)
_define("subtract", 2, _no_bools, torch.sub)
_define("multiply", 2, _same, torch.mul, identity=1, of_bools=torch.logical_and)
_define("divide", 2, _quotient, torch.div, "true_divide")
_define("floor_divide", 2, _numbers, _zero_free(lambda a, b: torch.div(a, b, rounding_mode="floor")))
_define("remainder", 2, _numbers, _zero_free(torch.remainder), "mod")
_define("fmod", 2, _numbers, _zero_free(torch.fmod))
_define("power", 2, _numbers, _power, "pow")
_define("float_power", 2, lambda f, d, o: (promote(d, FLOAT64),) * 2, _power)
_define("maximum", 2, _same, torch.maximum)
_define("minimum", 2, _same, torch.minimum)
_define("fmax", 2, _same, torch.fmax)
_define("fmin", 2, _same, torch.fmin)
for _name, _function in {"less": torch.lt, "less_equal": torch.le, "greater": torch.gt, "greater_equal": torch.ge}.items():
    _define(_name, 2, _comparison, _function)
_define("equal", 2, _comparison, torch.eq)
_define("not_equal", 2, _comparison, torch.ne)
for _name in ("logical_and", "logical_or", "logical_xor"):
    _define(_name, 2, _logical, getattr(torch, _name))
_define("logical_not", 1, _logical, torch.logical_not)
_define("bitwise_and", 2, _bits, torch.bitwise_and)
_define("bitwise_or", 2, _bits, torch.bitwise_or)
_define("bitwise_xor", 2, _bits, torch.bitwise_xor)
_define("left_shift", 2, _numbers, torch.bitwise_left_shift, "bitwise_left_shift")
_define("right_shift", 2, _numbers, torch.bitwise_right_shift, "bitwise_right_shift")
_define("invert", 1, _bits, torch.bitwise_not, "bitwise_not", "bitwise_invert")
_define("arctan2", 2, _real_floats, torch.atan2, "atan2")
_define("hypot", 2, _real_floats, torch.hypot)
_define("logaddexp", 2, _real_floats, torch.logaddexp)
_define("logaddexp2", 2, _real_floats, torch.logaddexp2)
_define("copysign", 2, _real_floats, torch.copysign)
_define("nextafter", 2, _real_floats, torch.nextafter)
_define("heaviside", 2, _real_floats, _heaviside)
_define("gcd", 2, _bits, torch.gcd)
_define("lcm", 2, _bits, torch.lcm)
for _name in "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split():
    _define(_name, 1, _floats, getattr(torch, _name))
for _name in "sin cos tan sinh cosh tanh".split():
    _define(f"arc{_name}", 1, _floats, getattr(torch, f"a{_name}"), f"a{_name}")
_define("deg2rad", 1, _real_floats, torch.deg2rad, "radians")
_define("rad2deg", 1, _real_floats, torch.rad2deg, "degrees")
_define("cbrt", 1, _real_floats, lambda a: torch.sign(a) * torch.pow(torch.abs(a), 1 / 3))
_define("negative", 1, _no_bools, torch.neg)
_define("positive", 1, _no_bools, torch.clone)
_define("absolute", 1, _absolute, torch.abs, "abs", of_bools=torch.clone)
_define("fabs", 1, _real_floats, torch.abs)
_define("square", 1, _numbers, lambda a: a * a)
_define("reciprocal", 1, _numbers, _reciprocal)
_define("sign", 1, _same, _sign)
_define("conjugate", 1, _same, lambda a: torch.conj(a).resolve_conj() if a.dtype.is_complex else a.clone(), "conj")
_define("floor", 1, _whole, _only_floats(torch.floor))
_define("ceil", 1, _whole, _only_floats(torch.ceil))
_define("trunc", 1, _whole, _only_floats(torch.trunc))
_define("rint", 1, _floats, torch.round)
_define("isnan", 1, _truth, torch.isnan)
_define("isinf", 1, _truth, torch.isinf)
_define("isfinite", 1, _truth, torch.isfinite)
_define("signbit", 1, _truth, torch.signbit)


def clipped_into(out, found):
    """Writes what `clip` made."""
    found = asarray(found)
    return _CLIP._put(found._t, found._dtype, out, True, "same_kind")


_CLIP = ufunc("clip", 3, _same, None)


def matmul(x1, x2, /, out=None):
    """The matrix product."""
    from numpy._linear import matmul

    return matmul(x1, x2, out)


def operator_of(name):
    """What an operator between an array or scalar and something else does."""
    function = globals()[name]

    def operate(self, other):
        if name in ("equal", "not_equal"):
            if isinstance(other, torch.Tensor):
                return getattr(torch, {"equal": "eq", "not_equal": "ne"}[name])(torch.from_numpy(asarray(self)), other)
            if not _is_operand(other):
                return box(torch.full(self.shape, name == "not_equal"), BOOL)
        if isinstance(other, torch.Tensor) or not _is_operand(other):
            return NotImplemented
        return function(self, other)

    return operate


def reflected_of(name):
    """The same where the other comes first."""
    function = globals()[name]

    def operate(self, other):
        if not _is_operand(other):
            return NotImplemented
        if isinstance(other, torch.Tensor):
            result = function(asarray(other), self)
            return torch.from_numpy(asarray(result)) if name != "matmul" else asarray(result)._p.clone()
        return function(other, self)

    return operate


def _is_operand(other):
    kinds = (ndarray, generic, bool, int, float, complex, list, tuple, range, torch.Tensor)
    return isinstance(other, kinds) or hasattr(other, "__array__")
