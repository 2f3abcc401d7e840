"""Reductions and normalizations over the elements that a mask keeps: the others are filled with what does not count, then the
plain operator is called. Masked tensors are not available."""

import torch

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm",
    "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

_SUMMED_WIDE = (torch.uint8, torch.bool, torch.int8, torch.int16, torch.int32)


def __getattr__(name):
    if name in ("masked_tensor", "as_masked_tensor", "is_masked_tensor", "MaskedTensor"):
        raise NotImplementedError(f"torch.masked.{name} is not available in the playground")
    raise AttributeError(f"module 'torch.masked' has no attribute '{name}'")


def _dims(dim, ndim):
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim, dims = max(ndim, 1), []
    for d in (dim,) if isinstance(dim, (int, torch.SymInt)) else dim:
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if d >= ndim or d < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        dims.append(d % ndim)
    return tuple(sorted(dims))


def _extreme(dtype, sign):
    """The number below (-1) or above (1) every other of a dtype."""
    if dtype.is_floating_point:
        return sign * torch.inf
    return torch.iinfo(dtype).min if sign < 0 else torch.iinfo(dtype).max


def _whole(mask, input):
    """The mask as one of the input's shape."""
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = torch.broadcast_to(mask.clone(), input.shape)
    return mask.to(dtype=torch.bool)


def _filled(input, mask, fill, dtype=None):
    if mask is None:
        return input
    return torch.where(_whole(mask, input), input, torch.tensor(fill, dtype=dtype or input.dtype, device=input.device))


def _sum_dtype(input, dtype):
    return dtype or (torch.int64 if input.dtype in _SUMMED_WIDE else input.dtype)


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of what the mask keeps."""
    dtype = _sum_dtype(input, dtype)
    return torch.sum(_filled(input, mask, 0), _dims(dim, input.ndim), bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of what the mask keeps."""
    result = _filled(input, mask, 1).to(dtype=_sum_dtype(input, dtype))
    for d in reversed(_dims(dim, input.ndim)):
        result = result.prod(dim=d, keepdim=bool(keepdim))
    return result


def _scan(operator, fill):
    def scan(input, dim, *, dtype=None, mask=None):
        dtype = dtype or input.dtype
        return operator(_filled(input, mask, fill), _dims(dim, input.ndim)[0], dtype=dtype).to(dtype=dtype)

    return scan


cumsum, cumprod = _scan(torch.cumsum, 0), _scan(torch.cumprod, 1)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest of what the mask keeps."""
    filled = _filled(input, mask, _extreme(input.dtype, -1))
    return torch.amax(filled, _dims(dim, input.ndim), bool(keepdim)).to(dtype=dtype or input.dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest of what the mask keeps."""
    filled = _filled(input, mask, _extreme(input.dtype, 1))
    return torch.amin(filled, _dims(dim, input.ndim), bool(keepdim)).to(dtype=dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest is, as a number of the input's dtype."""
    filled = _filled(input, mask, _extreme(input.dtype, -1))
    return torch.argmax(filled, dim, bool(keepdim)).to(dtype=dtype or input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the smallest is, as a number of the input's dtype."""
    filled = _filled(input, mask, _extreme(input.dtype, 1))
    return torch.argmin(filled, dim, bool(keepdim)).to(dtype=dtype or input.dtype)


def _count(input, dim, keepdim, mask):
    ones = torch.ones(input.shape, dtype=torch.int64, device=input.device)
    return sum(ones, dim, keepdim=keepdim, mask=mask)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of what the mask keeps."""
    if dtype is None and not (input.dtype.is_floating_point or input.dtype.is_complex):
        dtype = torch.float32
    total = sum(input, dim, keepdim=keepdim, dtype=dtype or input.dtype, mask=mask)
    return total / _count(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median of what the mask keeps."""
    dtype, (dim,) = dtype or input.dtype, _dims(dim, input.ndim)
    floating = torch.is_floating_point(input)
    values = input if floating else input.to(dtype=torch.float)
    found = torch.nanmedian(_filled(values, mask, torch.nan), dim, keepdim).values
    if floating:
        return found.to(dtype=dtype)
    if torch.isnan(found).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype=dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The logarithm of the sum of exponentials of what the mask keeps."""
    filled = _filled(input, mask, _extreme(input.dtype, -1))
    return torch.logsumexp(filled, _dims(dim, input.ndim), keepdim=keepdim).to(dtype=dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """The logarithm of the sum of two exponentials, each under a mask of its own."""
    left = _filled(input, input_mask, _extreme(input.dtype, -1))
    right = _filled(other, other_mask, _extreme(other.dtype, -1))
    return torch.logaddexp(left, right).to(dtype=dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The norm of what the mask keeps."""
    filled = _filled(input, mask, torch.inf if ord == float("-inf") else 0)
    return torch.linalg.vector_norm(filled, ord, _dims(dim, input.ndim), bool(keepdim), dtype=dtype or input.dtype)


def _spread(input, dim, unbiased, correction, keepdim, dtype, mask, root):
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1.0 if unbiased is None or unbiased else 0.0
    if dtype is None:
        dtype = input.dtype if input.dtype.is_floating_point or input.dtype.is_complex else torch.float32
    count = _count(input, dim, True, mask)
    center = torch.divide(sum(input, dim, keepdim=True, dtype=dtype, mask=mask), count)
    apart = torch.subtract(input, center)
    total = sum(apart * apart.conj(), dim, keepdim=keepdim, dtype=dtype, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    if correction != 0:
        count = torch.subtract(count.to(dtype), float(correction))
        count = torch.maximum(count, count.new_zeros([]))
    result = torch.divide(total, count).to(dtype=dtype)
    return torch.sqrt(result) if root else result


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of what the mask keeps."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, False)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of what the mask keeps."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, True)


def _normalized(name, sign):
    def function(input, dim, *, dtype=None, mask=None):
        filled = _filled(input, mask, _extreme(input.dtype, sign))
        operator = getattr(torch.nn.functional, name)
        return operator(filled, _dims(dim, input.ndim)[0], dtype=dtype or input.dtype)

    return function


softmax, log_softmax, softmin = _normalized("softmax", -1), _normalized("log_softmax", -1), _normalized("softmin", 1)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """What the mask keeps, divided by its norm."""
    dtype = dtype or input.dtype
    filled = _filled(input, mask, 0)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return torch.divide(filled, torch.maximum(length, length.new_full([], eps))).to(dtype=dtype)
