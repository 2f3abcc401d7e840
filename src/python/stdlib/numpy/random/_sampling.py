"""What `RandomState` and `Generator` share: sizes, bounds of integers, choices with probabilities."""

import torch

from numpy import _dtypes, _functions, _reductions, _ufuncs
from numpy._array import asarray, make, ndarray
from numpy._dtypes import FLOAT64, INT64, resolve
from numpy._functions import _shaped
from numpy._scalars import generic


def shape_of(size):
    """A shape, and how many elements it has; None is one number."""
    if size is None:
        return None, 1
    shape, count = _shaped(size), 1
    for n in shape:
        if n < 0:
            raise ValueError("negative dimensions are not allowed")
        count *= n
    return shape, count


def shaped(t, shape, dtype=FLOAT64):
    """Samples in their shape, or the one sample."""
    return make(t.item(), dtype) if shape is None else ndarray(t.reshape(shape), dtype)


def is_number(*values):
    """Whether all of a distribution's parameters are numbers."""
    return all(isinstance(v, (int, float, generic)) or getattr(v, "ndim", 1) == 0 for v in values)


def scaled(draw, size, parameters, combine):
    """Samples of a distribution that is a standard one's, moved and scaled by parameters, which may be arrays."""
    if is_number(*parameters):
        shape, count = shape_of(size)
        return shaped(combine(draw(count), *(float(p) for p in parameters)), shape)
    arrays = [asarray(p, FLOAT64)._t for p in parameters]
    shape = tuple(torch.broadcast_shapes(*(a.shape for a in arrays)))
    if size is not None:
        given, _ = shape_of(size)
        if tuple(torch.broadcast_shapes(shape, given)) != given:
            raise ValueError(f"Output size {given} is not compatible with broadcast dimensions of inputs {shape}.")
        shape = given
    _, count = shape_of(shape)
    return shaped(combine(draw(count).reshape(shape), *arrays), shape)


def check(is_bad, name):
    """Raises where a parameter is out of bounds."""
    if is_bad:
        raise ValueError(f"{name} < 0")


def integers(source, low, high, size, dtype, endpoint, masked):
    """Integers from `low` to `high`."""
    plain_bool = dtype is bool
    dtype = resolve(dtype)
    if dtype.kind not in "biu":
        raise TypeError(f"Unsupported dtype {dtype!r} for {'randint' if masked else 'integers'}")
    if high is None:
        low, high = 0, low
    least, most = (0, 1) if dtype.kind == "b" else _dtypes.bounds(dtype)
    bits = 8 if dtype.kind == "b" else 8 * dtype.itemsize
    if is_number(low, high):
        low, high = (int(v.item() if hasattr(v, "item") else v) for v in (low, high))
        high = high if endpoint else high - 1
        if low < least:
            raise ValueError(f"low is out of bounds for {dtype.name}")
        if high > most:
            raise ValueError(f"high is out of bounds for {dtype.name}")
        if low > high:
            raise ValueError("low >= high" if not endpoint else "low > high") if low != 0 or endpoint else ValueError("high <= 0")
        shape, count = shape_of(size)
        t = _drawn(source, count, low, high - low, bits, masked, dtype)
        if shape is None and (plain_bool or dtype is INT64 and masked):
            return bool(t.item()) if plain_bool else t.item()
        return shaped(t, shape, dtype)
    low, high = _functions.broadcast_arrays(asarray(low), asarray(high))
    if size is not None:
        low, high = _functions.broadcast_to(low, size), _functions.broadcast_to(high, size)
    lows = [int(v) for v in low.reshape(-1).tolist()]
    tops = [int(v) - (not endpoint) for v in high.reshape(-1).tolist()]
    if any(v < least for v in lows):
        raise ValueError(f"low is out of bounds for {dtype.name}")
    if any(v > most for v in tops):
        raise ValueError(f"high is out of bounds for {dtype.name}")
    if any(a > b for a, b in zip(lows, tops)):
        raise ValueError("low >= high" if not endpoint else "low > high")
    t = source.bounded_each(lows, [b - a for a, b in zip(lows, tops)], bits, masked)
    return shaped(t.to(dtype._torch), low.shape, dtype)


def _drawn(source, count, low, span, bits, masked, dtype):
    from numpy._array import wrapped

    if low >= 2**63:
        from numpy._absent import unavailable

        raise unavailable("uint64 of 2**63 or more")
    # Truth values are drawn as bits of one draw.
    if dtype.kind == "b" and span == 1:
        bits = 1
    return wrapped(source.bounded(count, low, span, bits, masked).to(dtype._torch), dtype)


def chosen(a, size, replace, p, draw_integers, draw_doubles, draw_without, axis=0, legacy=False):
    """`choice`: positions are drawn, and what is there is taken."""
    of_a, of_p, probabilities = ("'a'", "'p'", "probabilities") if legacy else ("a", "p", "Probabilities")
    shape, count = shape_of(size)
    population = None
    if is_number(a):
        if isinstance(a, (float, complex)):
            kind = "1-dimensional or an integer" if legacy else f"a sequence or an integer, not {type(a)}"
            raise ValueError(f"a must be {kind}")
        n = int(a)
        if n <= 0 and count:
            raise ValueError(f"a must be {'greater than 0' if legacy else 'a positive integer'} unless no samples are taken")
    else:
        population = asarray(a)
        n = population.shape[axis]
        if n == 0 and count:
            raise ValueError(f"{of_a} cannot be empty unless no samples are taken")
    weights = None
    if p is not None:
        weights = asarray(p, FLOAT64)
        if weights.ndim != 1:
            raise ValueError(f"{of_p} must be 1-dimensional")
        if weights.size != n:
            raise ValueError(f"{of_a} and {of_p} must have same size")
        total = float(weights.sum())
        if total != total:
            raise ValueError(f"{probabilities} contain NaN")
        if bool(_ufuncs.less(weights, 0).any()):
            raise ValueError(f"{probabilities} are not non-negative")
        if abs(total - 1.0) > 2**-26:
            raise ValueError(f"{probabilities} do not sum to 1" + ("" if legacy else ". See Notes section of docstring for more information."))
    if replace:
        at = draw_integers(n, count) if weights is None else _positions(weights, draw_doubles(count))
    else:
        if count > n:
            how = "'replace=False'" if legacy else "replace is False"
            raise ValueError(f"Cannot take a larger sample than population when {how}")
        at = draw_without(n, count) if weights is None else _different(weights, count, draw_doubles)
    at = at.item() if shape is None else ndarray(at.reshape(shape), INT64)
    return at if population is None else population[(slice(None),) * axis + (at,)]


def _positions(weights, doubles):
    sums = _reductions.cumsum(weights)
    sums = _ufuncs.divide(sums, sums[-1])
    return torch.searchsorted(sums._t, doubles, right=True)


def _different(weights, count, draw_doubles):
    if _reductions.count_nonzero(weights) < count:
        raise ValueError("Fewer non-zero entries in p than size")
    weights, found = weights.copy(), []
    while len(found) < count:
        doubles = draw_doubles(count - len(found))
        if found:
            weights[found] = 0
        for at in _positions(weights, doubles).tolist():
            if at not in found:
                found.append(at)
    return torch.tensor(found, dtype=torch.int64)


def shuffle(x, order):
    """Puts an array's or list's elements into an order."""
    if isinstance(x, ndarray):
        x._write(x._t[order])
    elif isinstance(x, torch.Tensor):
        x.copy_(x[order].clone())
    elif hasattr(x, "__setitem__"):
        x[:] = [x[i] for i in order.tolist()]
    else:
        raise TypeError(f"'{type(x).__name__}' object does not support item assignment")
