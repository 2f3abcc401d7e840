"""Sums, means, extremes and positions along axes. Floats are summed in numpy's order."""

import builtins

import _numpy
import torch

from numpy import _dtypes, _ufuncs
from numpy._absent import unavailable
from numpy._array import _axis, asarray, box, cast, ndarray, wrapped
from numpy._capture import of_tensors, public
from numpy._dtypes import BOOL, FLOAT32, FLOAT64, INT64, UINT64, resolve


def axes_of(axis, ndim):
    """The axes that are reduced, counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(_axis(a, ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes


def kept(shape, axis):
    """A shape whose reduced axes have one element."""
    axes = axes_of(axis, len(shape))
    return tuple(1 if d in axes else s for d, s in enumerate(shape))


def finish(t, dtype, a, axis, keepdims, out=None):
    """What a reduction returns."""
    if keepdims:
        t = t.reshape(kept(a.shape, axis))
    if out is None:
        return box(t, dtype)
    out._write(cast(t, dtype, out._dtype))
    return out


def _reducing(function):
    """A reduction of an array: a tensor's is its own method, as numpy calls it."""

    def call(a, *args, **kwargs):
        if isinstance(a, torch.Tensor) and function.__name__ in ("sum", "prod", "mean", "std", "var", "max", "min", "all", "any"):
            # numpy calls the tensor's method with arguments that it does not take.
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument 'axis'")
        if kwargs.get("initial") is not None or kwargs.get("where", True) is not True:
            raise unavailable(f"{function.__name__} with initial or where", "a[mask]")
        kwargs.pop("initial", None)
        kwargs.pop("where", None)
        return function(asarray(a), *args, **kwargs)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return public(of_tensors(call))


def total(a, axes):
    """The sum of floats, as a tensor."""
    t = a._p
    if t.dtype not in (torch.float32, torch.float64):
        return t.sum(axes) if axes else t.clone()
    # In the order of memory, the longest stride first.
    order = sorted(range(t.dim()), key=lambda d: (-t.stride(d), d))
    inner = t.permute(order).contiguous()
    found = _numpy.sum(inner, [d in axes for d in order])
    left = [d for d in order if d not in axes]
    result = found.permute([left.index(d) for d in sorted(left)]) if left else found
    flips = [sorted(left).index(d) for d in a._flips if d in left]
    return result.flip(flips) if flips else result


def _sum_dtype(dtype):
    if dtype.kind == "u":
        return UINT64
    return INT64 if dtype.kind in "bi" else dtype


@_reducing
def sum(a, axis=None, dtype=None, out=None, keepdims=False):
    """The sum."""
    dtype = _sum_dtype(a._dtype) if dtype is None else resolve(dtype)
    axes = axes_of(axis, a.ndim)
    if dtype.kind in "fc":
        half = dtype.name == "float16"
        given = a if a._dtype is dtype and not half else ndarray(cast(a._t, a._dtype, FLOAT32 if half else dtype), FLOAT32 if half else dtype)
        t = total(given, axes).to(dtype._torch)
    else:
        t = cast(a._t, a._dtype, dtype)
        t = wrapped(t.sum(axes, dtype=dtype._torch) if axes else t.clone(), dtype)
    return finish(t, dtype, a, axis, keepdims, out)


def _prod(t, axes):
    for axis in sorted(axes, reverse=True):
        t = t.prod(axis)
    return t


@_reducing
def prod(a, axis=None, dtype=None, out=None, keepdims=False):
    """The product."""
    dtype = _sum_dtype(a._dtype) if dtype is None else resolve(dtype)
    t = cast(a._t, a._dtype, dtype)
    return finish(wrapped(_prod(t, axes_of(axis, a.ndim)).to(dtype._torch), dtype), dtype, a, axis, keepdims, out)


def _count(a, axes):
    count = 1
    for d in axes:
        count *= a.shape[d]
    return count


def _warn(text):
    import warnings

    warnings.warn(text, RuntimeWarning, stacklevel=4)


def _mean(a, axes, dtype):
    """The mean of elements as a tensor."""
    count = _count(a, axes)
    if dtype.name == "float16":
        t = total(ndarray(cast(a._t, a._dtype, FLOAT32), FLOAT32), axes) / count
        return t.to(torch.float16)
    given = a if a._dtype is dtype else ndarray(cast(a._t, a._dtype, dtype), dtype)
    return total(given, axes) / count


@_reducing
def mean(a, axis=None, dtype=None, out=None, keepdims=False):
    """The mean."""
    dtype = (a._dtype if a._dtype.kind in "fc" else FLOAT64) if dtype is None else resolve(dtype)
    axes = axes_of(axis, a.ndim)
    if not _count(a, axes):
        _warn("Mean of empty slice")
    return finish(_mean(a, axes, dtype), dtype, a, axis, keepdims, out)


def _variance(a, axis, dtype, ddof, keepdims, out, root):
    dtype = (a._dtype if a._dtype.kind in "fc" else FLOAT64) if dtype is None else resolve(dtype)
    axes, half = axes_of(axis, a.ndim), dtype.name == "float16"
    work = FLOAT32 if half else dtype
    given = a if a._dtype is work else ndarray(cast(a._t, a._dtype, work), work)
    count = _count(a, axes)
    if count <= ddof:
        _warn("Degrees of freedom <= 0 for slice.")
    center = (total(given, axes) / count).reshape(kept(a.shape, axis))
    x = given._p - (center.flip(given._flips) if given._flips else center)
    real = _dtypes._BY_SPEC[f"f{work.itemsize // 2}"] if work.kind == "c" else work
    x = (x * x.conj()).real if work.kind == "c" else x * x
    t = total(ndarray(x, real, given._flips), axes) / builtins.max(count - ddof, 0)
    t = torch.sqrt(t) if root else t
    result = _dtypes.FLOAT16 if half else real
    return finish(t.to(result._torch), result, a, axis, keepdims, out)


@_reducing
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None, correction=None):
    """The variance."""
    return _variance(a, axis, dtype, ddof if correction is None else correction, keepdims, out, False)


@_reducing
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, mean=None, correction=None):
    """The standard deviation."""
    return _variance(a, axis, dtype, ddof if correction is None else correction, keepdims, out, True)


def _extreme(name, function):
    def extreme(a, axis=None, out=None, keepdims=False):
        axes = axes_of(axis, a.ndim)
        if not _count(a, axes):
            raise ValueError(f"zero-size array to reduction operation {name}imum which has no identity")
        t = a._t
        if a._dtype.kind == "c":
            raise unavailable("an order of complex numbers", "np.abs")
        return finish(function(t, axes) if axes else t.clone(), a._dtype, a, axis, keepdims, out)

    extreme.__name__, extreme.__doc__ = name, f"The {name}imum."
    return _reducing(extreme)


def _amax(t, axes):
    return t.amax(axes)


max = amax = _extreme("max", _amax)
min = amin = _extreme("min", lambda t, axes: t.amin(axes))


@_reducing
def ptp(a, axis=None, out=None, keepdims=False):
    """The range of values."""
    return _ufuncs.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def _position(name, function):
    def position(a, axis=None, out=None, *, keepdims=False):
        t = a._t
        t = t.to(torch.uint8) if a._dtype is BOOL else t
        if not a.size:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        if axis is None:
            return finish(function(t.reshape(-1), 0), INT64, a, None, keepdims, out)
        return finish(function(t, _axis(axis, a.ndim)), INT64, a, axis, keepdims, out)

    position.__name__, position.__doc__ = name, "Where the extreme is first."
    return _reducing(position)


argmax = _position("argmax", torch.argmax)
argmin = _position("argmin", torch.argmin)


def _truth(name, function, empty):
    def truth(a, axis=None, out=None, keepdims=False):
        t, axes = cast(a._t, a._dtype, BOOL), axes_of(axis, a.ndim)
        for d in sorted(axes, reverse=True):
            t = function(t, d)
        return finish(t, BOOL, a, axis, keepdims, out)

    truth.__name__, truth.__doc__ = name, f"Whether {name} element is true."
    return _reducing(truth)


all = _truth("all", torch.all, True)
any = _truth("any", torch.any, False)


def _running(name, function):
    def running(a, axis=None, dtype=None, out=None):
        dtype = _sum_dtype(a._dtype) if dtype is None else resolve(dtype)
        a = a if axis is not None else a.reshape(-1)
        axis = 0 if axis is None else _axis(axis, a.ndim)
        t = cast(a._t, a._dtype, dtype)
        if dtype.name in ("float16", "float32"):
            # Each partial result is rounded.
            rows = list(t.unbind(axis))
            for i in range(1, len(rows)):
                rows[i] = rows[i - 1] + rows[i] if name == "cumsum" else rows[i - 1] * rows[i]
            t = torch.stack(rows, axis) if rows else t.clone()
        else:
            t = wrapped(function(t, axis), dtype)
        return finish(t, dtype, a, axis, False, out)

    running.__name__, running.__doc__ = name, "The result so far, along an axis."
    return _reducing(running)


cumsum = _running("cumsum", torch.cumsum)
cumprod = _running("cumprod", torch.cumprod)


# Without what is no number


def _without_nan(name, function, fill):
    def call(a, axis=None, keepdims=False, **kwargs):
        a = asarray(a)
        if a._dtype.kind != "f":
            return function(a, axis=axis, keepdims=keepdims, **kwargs)
        t = a._t
        return function(ndarray(torch.where(t != t, torch.full((), fill, dtype=t.dtype), t), a._dtype), axis=axis, keepdims=keepdims, **kwargs)

    call.__name__, call.__doc__ = name, "The same where what is no number is left out."
    return public(call)


nansum = _without_nan("nansum", sum, 0.0)
nanprod = _without_nan("nanprod", prod, 1.0)
nanmax = _without_nan("nanmax", max, float("-inf"))
nanmin = _without_nan("nanmin", min, float("inf"))
nanargmax = _without_nan("nanargmax", argmax, float("-inf"))
nanargmin = _without_nan("nanargmin", argmin, float("inf"))


@public
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    """The mean of what is a number."""
    a = asarray(a, dtype)
    count = sum(_ufuncs.logical_not(_ufuncs.isnan(a)), axis=axis, keepdims=keepdims)
    return _ufuncs.divide(nansum(a, axis, keepdims), count if a._dtype is not FLOAT32 else asarray(count, FLOAT32), out=out)


@public
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    """The variance of what is a number."""
    a = asarray(a, dtype)
    valid = _ufuncs.logical_not(_ufuncs.isnan(a))
    off = _ufuncs.subtract(a, nanmean(a, axis, keepdims=True))
    count = _ufuncs.subtract(sum(valid, axis=axis, keepdims=keepdims), ddof)
    return _ufuncs.divide(nansum(_ufuncs.multiply(off, off), axis, keepdims), asarray(count, a._dtype))


@public
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    """The standard deviation of what is a number."""
    return _ufuncs.sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))


@public
def count_nonzero(a, axis=None, *, keepdims=False):
    """How many elements are not zero."""
    return sum(_ufuncs.not_equal(asarray(a), 0), axis=axis, keepdims=keepdims)


# Order statistics


def _interpolated(t, q, method):
    """Quantiles of sorted rows along the first axis."""
    from numpy import _functions

    n = t.shape[0]
    at = q * (n - 1)
    low = int(at // 1)
    low = builtins.min(builtins.max(low, 0), n - 1)
    high, share = builtins.min(low + 1, n - 1), at - low
    if method == "lower":
        return t[low]
    if method == "higher":
        return t[low if share == 0 else high]
    if method == "nearest":
        return t[_functions._half_even(at)]
    if method == "midpoint":
        return t[low] if share == 0 else (t[low] + t[high]) / 2
    if method != "linear":
        raise unavailable(f"quantiles by method '{method}'", "method='linear'")
    difference = t[high] - t[low]
    return t[high] - difference * (1 - share) if share >= 0.5 else t[low] + difference * share


def _quantile(a, q, axis, method, keepdims):
    a, qs = asarray(a), asarray(q)
    dtype = a._dtype if a._dtype.kind == "f" else FLOAT64
    if bool(_ufuncs.logical_or(_ufuncs.less(qs, 0), _ufuncs.greater(qs, 1)).any()):
        raise ValueError("Quantiles must be in the range [0, 1]")
    axes = axes_of(axis, a.ndim)
    left = [d for d in range(a.ndim) if d not in axes]
    t = cast(a._t, a._dtype, dtype).permute(*axes, *left)
    t = t.reshape(-1, *(a.shape[d] for d in left))
    ordered = t.sort(0).values
    is_nan = (t != t).any(0)
    found = [torch.where(is_nan, torch.full((), float("nan"), dtype=t.dtype), _interpolated(ordered, p, method)) for p in qs.reshape(-1).tolist()]
    found = [f.reshape(kept(a.shape, axis)) if keepdims else f for f in found]
    made = torch.stack(found).reshape(*qs.shape, *found[0].shape) if qs.ndim else found[0]
    return box(made, dtype)


@public
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """Quantiles."""
    return _quantile(a, q, axis, method, keepdims)


@public
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """Percentiles."""
    return _quantile(a, _ufuncs.divide(q, 100), axis, method, keepdims)


@public
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median."""
    a = asarray(a)
    dtype = a._dtype if a._dtype.kind == "f" else FLOAT64
    axes = axes_of(axis, a.ndim)
    left = [d for d in range(a.ndim) if d not in axes]
    t = cast(a._t, a._dtype, dtype).permute(*axes, *left).reshape(-1, *(a.shape[d] for d in left))
    if not t.shape[0]:
        _warn("Mean of empty slice.")
        return finish(torch.full(t.shape[1:], float("nan"), dtype=t.dtype), dtype, a, axis, keepdims)
    ordered, n = t.sort(0).values, t.shape[0]
    middle = ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2
    middle = torch.where((t != t).any(0), torch.full((), float("nan"), dtype=t.dtype), middle)
    return finish(middle, dtype, a, axis, keepdims)


@public
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """The mean, with weights."""
    a = asarray(a)
    if weights is None:
        found = mean(a, axis, keepdims=keepdims)
        scale = asarray(float(_count(a, axes_of(axis, a.ndim))))[()]
        return (found, scale) if returned else found
    w = asarray(weights)
    if w.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        w = w.reshape(tuple(s if d in axes_of(axis, a.ndim) else 1 for d, s in enumerate(a.shape)))
        w = _ufuncs.multiply(w, asarray(1, w.dtype) if a.ndim else 1)
    dtype = _dtypes.promote(a._dtype, w._dtype)
    dtype = dtype if dtype.kind in "fc" else FLOAT64
    ones = ndarray(torch.ones(a.shape, dtype=w._t.dtype), w._dtype)
    scale = sum(_ufuncs.multiply(w, ones), axis=axis, dtype=dtype, keepdims=keepdims)
    if bool(_ufuncs.equal(scale, 0).any()):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    found = _ufuncs.divide(sum(_ufuncs.multiply(a, w, dtype=dtype), axis=axis, keepdims=keepdims), scale)
    return (found, scale) if returned else found
