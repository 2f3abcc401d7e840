"""Reductions of numpy's as functions of tensors."""

import torch
from torch._numpy._operands import axes_of, cast, default_float, default_int, flat_without_axis, one_axis, tensor, torch_dtype, unsupported

TABLE = {}


def _kept(t, axis, dims):
    """A result with the axes that were reduced."""
    if axis is None:
        return t.expand((1,) * dims).contiguous()
    axes, sizes = axes_of(axis, dims), iter(t.shape)
    return t.reshape([1 if d in axes else next(sizes) for d in range(dims)])


def _reduction(function):
    """A function of a tensor and of axes, or None for all of them."""

    def call(a, axis=None, *args, keepdims=False, out=None, initial=None, where=None, **kwargs):
        unsupported(initial, None, "initial")
        unsupported(where, None, "where")
        a = tensor(a)
        given, dims = axis, a.ndim
        axis = None if axis is None else axes_of(axis, dims)
        if axis == ():
            a, axis = a.reshape((1, *a.shape)), (0,)
        result = function(a, axis, *args, **kwargs)
        if keepdims:
            result = _kept(result, given, dims)
        if out is None:
            return result
        tensor(out).copy_(result)
        return out

    call.__name__ = function.__name__
    TABLE[function.__name__] = call
    return function


def _real(a, name):
    if a.is_complex():
        raise NotImplementedError(f"{name} with dtype={a.dtype}")


def _float(dtype, own):
    dtype = own if dtype is None else dtype
    return dtype if dtype.is_floating_point or dtype.is_complex else default_float()


def _sum_dtype(dtype):
    dtype = torch_dtype(dtype)
    return default_int() if dtype is torch.bool else dtype


def _over(method, axis, **kwargs):
    return method(**kwargs) if axis is None else method(dim=axis, **kwargs)


@_reduction
def count_nonzero(a, axis):
    return a.count_nonzero(axis)


def _position(name):
    def position(a, axis):
        _real(a, name)
        return getattr(torch, name)(a.to(torch.uint8) if a.dtype is torch.bool else a, one_axis(axis))

    position.__name__ = name
    _reduction(position)


_position("argmax")
_position("argmin")


def _truth(name):
    def truth(a, axis):
        axis = one_axis(axis)
        return getattr(torch, name)(a) if axis is None else getattr(torch, name)(a, dim=axis)

    truth.__name__ = name
    _reduction(truth)


_truth("any")
_truth("all")


@_reduction
def amax(a, axis):
    _real(a, "amax")
    return a.amax() if axis is None else a.amax(axis)


@_reduction
def amin(a, axis):
    _real(a, "amin")
    return a.amin() if axis is None else a.amin(axis)


@_reduction
def ptp(a, axis):
    return amax(a, axis) - amin(a, axis)


@_reduction
def sum(a, axis, dtype=None):
    return _over(a.sum, axis, dtype=_sum_dtype(dtype))


@_reduction
def prod(a, axis, dtype=None):
    return _over(a.prod, one_axis(axis), dtype=_sum_dtype(dtype))


@_reduction
def mean(a, axis, dtype=None):
    return _over(a.mean, axis, dtype=_float(torch_dtype(dtype), a.dtype))


@_reduction
def std(a, axis, dtype=None, ddof=0):
    dtype = torch_dtype(dtype)
    return cast(cast(a, _float(dtype, a.dtype)).std(dim=axis, correction=ddof), dtype)


@_reduction
def var(a, axis, dtype=None, ddof=0):
    dtype = torch_dtype(dtype)
    return cast(cast(a, _float(dtype, a.dtype)).var(dim=axis, correction=ddof), dtype)


@_reduction
def quantile(a, axis, q=None, method="linear"):
    a = a if a.is_floating_point() else a.to(default_float())
    a = a.to(torch.float32) if a.dtype is torch.float16 else a
    if axis is None:
        a, q, axis = a.flatten(), q.flatten(), 0
    return torch.quantile(a, cast(q, a.dtype), one_axis(axis), interpolation=method)


_quantile = TABLE.pop("quantile")


def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """The value below which that part of the elements is."""
    return _quantile(a, axis, q=tensor(q), method=method, keepdims=keepdims, out=out)


def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """The same of a hundred parts."""
    q = tensor(q)
    q = q if q.is_floating_point() or q.is_complex() else q.to(default_float())
    return quantile(a, q / 100.0, axis, out, overwrite_input, method, keepdims)


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The value below which half of the elements are."""
    return quantile(a, torch.as_tensor(0.5), axis, out, overwrite_input, keepdims=keepdims)


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """The mean, with weights."""
    a = tensor(a)
    if weights is None:
        result = mean(a, None if axis is None else axes_of(axis, a.ndim))
        total = torch.as_tensor(a.numel() / result.numel(), dtype=result.dtype)
    else:
        from torch._numpy._operands import result_type

        weights = tensor(weights)
        a = a if a.is_floating_point() else a.double()
        if weights.shape != a.shape:
            wanted = "Axis must be specified" if axis is None else "1D weights expected" if weights.ndim != 1 else None
            if wanted is not None:
                raise TypeError(f"{wanted} when shapes of a and weights differ.")
            if len(weights) != a.shape[axis]:
                raise ValueError("Length of weights not compatible with specified axis.")
            weights = torch.broadcast_to(weights, (*[1] * (a.ndim - 1), len(weights))).swapaxes(-1, axis)
        dtype, axes = result_type(a, weights), None if axis is None else axes_of(axis, a.ndim)
        numerator = _over((a * weights).sum, axes, dtype=dtype)
        total = _over(weights.sum, axes, dtype=dtype)
        result = numerator / total
    result = _kept(result, axis, a.ndim) if keepdims else result
    if not returned:
        return result
    return result, total if total.shape == result.shape else torch.broadcast_to(total, result.shape).clone()


def _scan(name):
    def scan(a, axis=None, dtype=None, out=None):
        a, dtype = tensor(a), _sum_dtype(dtype)
        dtype = a.dtype if dtype is None else dtype
        a, axis = flat_without_axis(a, axis)
        result = getattr(a, name)(axis, dtype=dtype)
        if out is None:
            return result
        tensor(out).copy_(result)
        return out

    scan.__name__ = name
    TABLE[name] = scan


_scan("cumsum")
_scan("cumprod")
TABLE.update(max=TABLE["amax"], min=TABLE["amin"], product=TABLE["prod"])
TABLE.update({f.__name__: f for f in (quantile, percentile, median, average)})
