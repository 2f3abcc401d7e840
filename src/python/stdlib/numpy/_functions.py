"""Functions of arrays: making them, their shapes, joining and taking apart, order, search."""

import builtins
import math
import operator

import torch

from numpy import _dtypes, _reductions, _ufuncs
from numpy._absent import unavailable
from numpy._array import (
    AxisError, _array, _axis, _shape, _sizes, array, asarray, box, cast, ndarray, operand, tensor_of, wrapped,
)
from numpy._capture import of_tensors, public
from numpy._dtypes import BOOL, FLOAT64, INT64, OF_WEAK, promote, resolve
from numpy._scalars import generic
from numpy._ufuncs import common

# Arrays of a shape


def _shaped(shape):
    shape = _sizes((shape,))
    if any(size < 0 for size in shape):
        raise ValueError("negative dimensions are not allowed")
    return shape


def _filled(make):
    def call(shape, dtype=None, order="C", *, device=None, like=None):
        dtype = resolve(dtype)
        t = make(_shaped(shape), dtype=dtype._torch)
        return ndarray(_fortran(t) if order == "F" else t, dtype)

    return call


def _fortran(t):
    n = t.dim()
    return t.permute(tuple(range(n))[::-1]).contiguous().permute(tuple(range(n))[::-1])


def _named(name, function):
    function.__name__ = function.__qualname__ = name
    return public(function)


zeros, ones, empty = (_named(n, _filled(f)) for n, f in (("zeros", torch.zeros), ("ones", torch.ones), ("empty", torch.zeros)))


@public
def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    """An array of one value."""
    value = asarray(fill_value)
    dtype = value._dtype if dtype is None else resolve(dtype)
    shape = _shaped(shape)
    return ndarray(cast(value._t, value._dtype, dtype).expand(shape).clone(), dtype)


def _like(name, make):
    def call(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        a = asarray(a)
        return make(a.shape if shape is None else shape, a._dtype if dtype is None else dtype)

    return _named(name, call)


zeros_like, ones_like, empty_like = (_like(n, f.__wrapped__) for n, f in (("zeros_like", zeros), ("ones_like", ones), ("empty_like", empty)))


@public
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """The same in the shape of another array."""
    a = asarray(a)
    return full(a.shape if shape is None else shape, fill_value, a._dtype if dtype is None else dtype)


@public
def asanyarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """An array."""
    return asarray(a, dtype)


@public
def ascontiguousarray(a, dtype=None, *, like=None):
    """An array whose elements lie in order."""
    a = asarray(a, dtype)
    return a if a.flags.c_contiguous else a.copy()


@public
def asfortranarray(a, dtype=None, *, like=None):
    """An array whose first axis varies fastest."""
    a = asarray(a, dtype)
    return ndarray(_fortran(a._t), a._dtype)


@public
def copy(a, order="K", subok=False):
    """A copy."""
    return _array(a)


def _plain(x):
    return x._value if isinstance(x, generic) else x.item() if isinstance(x, (ndarray, torch.Tensor)) else x


@public
def arange(start, stop=None, step=None, dtype=None, *, device=None, like=None):
    """Numbers from one to another by a step."""
    given = [x for x in (start, stop, step) if x is not None]
    found = common([operand(x) for x in given])
    start, stop, step = _plain(start), _plain(stop), 1 if step is None else _plain(step)
    start, stop = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ZeroDivisionError("division by zero")
    found = INT64 if found is BOOL else found
    dtype = found if dtype is None else resolve(dtype)
    count = builtins.max(0, math.ceil((stop - start) / step))
    if dtype.kind in "iu" and all(isinstance(x, int) for x in (start, stop, step)):
        return ndarray(wrapped((torch.arange(count) * step + start).to(dtype._torch), dtype), dtype)
    # The second element says how far the others are apart.
    first = torch.tensor(start, dtype=dtype._torch)
    apart = torch.tensor(start + step, dtype=dtype._torch) - first
    steps = torch.arange(count, dtype=dtype._torch if dtype.kind in "fc" else torch.int64)
    return ndarray((first + steps * apart).to(dtype._torch), dtype)


@public
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """So many numbers from one to another, equally far apart."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = _ufuncs.multiply(asarray(start), 1.0), _ufuncs.multiply(asarray(stop), 1.0)
    parts = num - 1 if endpoint else num
    work = promote(promote(start.dtype, stop.dtype), FLOAT64) if start.dtype.kind != "f" or stop.dtype.kind != "f" else promote(start.dtype, stop.dtype)
    delta = _ufuncs.subtract(asarray(stop, work), start)
    ndim = asarray(delta).ndim
    y = asarray(arange(0, num), work).reshape((-1,) + (1,) * ndim)
    step = _ufuncs.divide(delta, parts) if parts > 0 else asarray(float("nan"))[()]
    if parts > 0:
        y = _ufuncs.multiply(y, step) if bool(_ufuncs.not_equal(step, 0).all()) else _ufuncs.multiply(_ufuncs.divide(y, parts), delta)
    else:
        y = _ufuncs.multiply(y, delta)
    y = _ufuncs.add(y, start)
    if endpoint and num > 1:
        y[-1] = stop
    if dtype is not None:
        dtype = resolve(dtype)
        y = (_ufuncs.floor(y) if dtype.kind in "iu" else y).astype(dtype)
    y = moveaxis(y, 0, axis) if axis else y
    return (y, step) if retstep else y


@public
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Powers of a base whose exponents are equally far apart."""
    y = _ufuncs.power(asarray(base)[()], linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else y.astype(dtype)


@public
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Numbers each of which is the same multiple of the one before."""
    start, stop = float(start), float(stop)
    if start <= 0 or stop <= 0:
        raise unavailable("geomspace of numbers that are not positive", "-np.geomspace of their opposites")
    low, high = math.log10(start), math.log10(stop)
    y = logspace(low, high, num, endpoint)
    if num > 0:
        y[0] = start
        if num > 1 and endpoint:
            y[-1] = stop
    return y if dtype is None else y.astype(dtype)


@public
def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):
    """Ones on a diagonal."""
    M, dtype = N if M is None else M, resolve(dtype)
    made = (torch.arange(M) - torch.arange(N)[:, None]) == k
    return ndarray(made.to(dtype._torch), dtype)


@public
def identity(n, dtype=None, *, like=None):
    """The identity matrix."""
    return eye(n, dtype=dtype)


@public
def tri(N, M=None, k=0, dtype=float, *, like=None):
    """Ones at and below a diagonal."""
    M, dtype = N if M is None else M, resolve(dtype)
    return ndarray(((torch.arange(M) - torch.arange(N)[:, None]) <= k).to(dtype._torch), dtype)


@public
def tril(m, k=0):
    """What is at and below a diagonal."""
    m = asarray(m)
    return ndarray(torch.tril(m._t, k), m._dtype)


@public
def triu(m, k=0):
    """What is at and above a diagonal."""
    m = asarray(m)
    return ndarray(torch.triu(m._t, k), m._dtype)


@public
def triu_indices(n, k=0, m=None):
    """Where the upper triangle of a matrix is."""
    t = torch.triu_indices(n, n if m is None else m, k)
    return ndarray(t[0], INT64), ndarray(t[1], INT64)


@public
def tril_indices(n, k=0, m=None):
    """Where the lower triangle of a matrix is."""
    t = torch.tril_indices(n, n if m is None else m, k)
    return ndarray(t[0], INT64), ndarray(t[1], INT64)


@public
def diag(v, k=0):
    """A diagonal, or a matrix with one."""
    v = asarray(v)
    return ndarray(torch.diag(v._t, k).clone(), v._dtype)


@public
def diagonal(a, offset=0, axis1=0, axis2=1):
    """A diagonal."""
    a = asarray(a)
    return ndarray(torch.diagonal(a._t, offset, axis1, axis2), a._dtype)


@public
def fill_diagonal(a, val, wrap=False):
    """Writes a diagonal."""
    for i in range(builtins.min(a.shape)):
        a[(i,) * a.ndim] = val if asarray(val).ndim == 0 else asarray(val)[i]


@public
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum of a diagonal."""
    return _reductions.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@public
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinates of a grid."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    arrays = [asarray(x) for x in xi]
    n, made = len(arrays), []
    shapes = [[1] * n for _ in arrays]
    for i, a in enumerate(arrays):
        shapes[i][i] = a.size
    if indexing == "xy" and n > 1:
        shapes[0][0], shapes[0][1] = 1, arrays[0].size
        shapes[1][1], shapes[1][0] = 1, arrays[1].size
    parts = [ndarray(a._t.reshape(s), a._dtype) for a, s in zip(arrays, shapes)]
    if sparse:
        return tuple(parts)
    full_shape = torch.broadcast_shapes(*shapes)
    for part in parts:
        made.append(ndarray(part._p.expand(full_shape).clone(), part._dtype))
    return tuple(made)


class _Grid:
    """`np.mgrid` and `np.ogrid`."""

    def __init__(self, sparse):
        self._sparse = sparse

    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        axes = []
        for part in keys:
            start, step = part.start or 0, 1 if part.step is None else part.step
            axes.append(linspace(start, part.stop, int(abs(step))) if isinstance(step, complex) else arange(start, part.stop, step))
        if not isinstance(key, tuple):
            return axes[0]
        grid = meshgrid(*axes, indexing="ij", sparse=self._sparse)
        return grid if self._sparse else stack(grid)


mgrid, ogrid = _Grid(False), _Grid(True)


class _Joined:
    """`np.r_` and `np.c_`."""

    def __init__(self, columns):
        self._columns = columns

    def __getitem__(self, key):
        parts = []
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, slice):
                part = _Grid(False)[part]
            if isinstance(part, str):
                raise unavailable("np.r_ with a text", "np.concatenate")
            part = asarray(part)
            parts.append(part.reshape(-1, 1) if self._columns and part.ndim < 2 else part.reshape(-1) if part.ndim == 0 else part)
        return concatenate(parts, axis=-1 if self._columns else 0)


r_, c_ = _Joined(False), _Joined(True)


class _Slices:
    def __getitem__(self, key):
        return key


s_ = index_exp = _Slices()


@public
def indices(dimensions, dtype=int, sparse=False):
    """The indices of a grid."""
    grid = meshgrid(*(arange(n, dtype=dtype) for n in dimensions), indexing="ij", sparse=sparse)
    return grid if sparse else stack(grid)


@public
def fromiter(iter, dtype, count=-1, *, like=None):
    """An array of what is iterated over."""
    items = list(iter)
    return array(items if count < 0 else items[:count], dtype)


@public
def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    """What a function makes of coordinates."""
    return function(*indices(shape, dtype=dtype), **kwargs)


# Shapes


def _delegate(name, method):
    def call(a, *args, **kwargs):
        return getattr(asarray(a), method)(*args, **kwargs)

    call.__name__ = name
    return _named(name, of_tensors(call) if name != "ravel" else call)


ravel, transpose, swapaxes, squeeze = (_delegate(n, n) for n in "ravel transpose swapaxes squeeze".split())


@public
@of_tensors
def reshape(a, /, shape, order="C", *, copy=None):
    """The same elements in another shape."""
    return asarray(a).reshape(shape, order=order)


permute_dims = transpose


@public
def matrix_transpose(x, /):
    """The last two axes exchanged."""
    return asarray(x).mT


@public
def expand_dims(a, axis):
    """The same with new axes of one element."""
    a = asarray(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    n = a.ndim + len(axes)
    axes = {_axis(x, n) for x in axes}
    return a[tuple(None if d in axes else slice(None) for d in range(n))]


@public
def moveaxis(a, source, destination):
    """The same with axes at other places."""
    a = asarray(a)
    source = [_axis(s, a.ndim) for s in (source if isinstance(source, (tuple, list)) else (source,))]
    destination = [_axis(d, a.ndim) for d in (destination if isinstance(destination, (tuple, list)) else (destination,))]
    order = [d for d in range(a.ndim) if d not in source]
    for to, of in sorted(zip(destination, source)):
        order.insert(to, of)
    return a.transpose(order)


@public
def rollaxis(a, axis, start=0):
    """The same with one axis moved."""
    a = asarray(a)
    axis, start = _axis(axis, a.ndim), _axis(start, a.ndim + 1)
    return moveaxis(a, axis, start - 1 if axis < start else start)


@public
def broadcast_to(array, shape, subok=False):
    """A view with repeated elements."""
    a = asarray(array)
    shape = _shaped(shape)
    try:
        return ndarray(a._t.expand(shape), a._dtype, (), a)
    except RuntimeError:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: {_shape(a._p)}  and requested shape "
            f"({','.join(map(str, shape))})"
        ) from None


def broadcast_shapes(*args):
    """The shape that others have together."""
    return tuple(torch.broadcast_shapes(*(_shaped(s) for s in args)))


@public
def broadcast_arrays(*args, subok=False):
    """Arrays in the shape that they have together."""
    arrays = [asarray(a) for a in args]
    shape = tuple(torch.broadcast_shapes(*(a.shape for a in arrays)))
    return tuple(broadcast_to(a, shape) for a in arrays)


def _at_least(n):
    def call(*arrays):
        made = []
        for a in map(asarray, arrays):
            if a.ndim < n:
                shape = {(1, 0): (1,), (2, 0): (1, 1), (3, 0): (1, 1, 1), (2, 1): (1, -1), (3, 1): (1, -1, 1), (3, 2): (*a.shape, 1)}[n, a.ndim]
                a = a.reshape(shape)
            made.append(a)
        return made[0] if len(made) == 1 else tuple(made)

    return _named(f"atleast_{n}d", call)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


@public
def flip(m, axis=None):
    """A view that runs backwards."""
    m = asarray(m)
    axes = _reductions.axes_of(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(m.ndim))]


@public
def fliplr(m):
    """Columns backwards."""
    return flip(m, 1)


@public
def flipud(m):
    """Rows backwards."""
    return flip(m, 0)


@public
def rot90(m, k=1, axes=(0, 1)):
    """Turned by right angles."""
    m = asarray(m)
    return ndarray(torch.rot90(m._t, k, axes), m._dtype)


@public
def roll(a, shift, axis=None):
    """Elements moved along an axis, those that leave it coming in at the other end."""
    a = asarray(a)
    shift = tuple(asarray(shift).reshape(-1).tolist()) if asarray(shift).ndim else _plain(shift)
    return ndarray(torch.roll(a._t, shift, axis) if axis is not None else torch.roll(a._t, shift), a._dtype)


def ndim(a):
    """How many axes."""
    return asarray(a).ndim


def shape(a):
    """The sizes."""
    return asarray(a).shape


def size(a, axis=None):
    """How many elements."""
    a = asarray(a)
    return a.size if axis is None else a.shape[_axis(axis, a.ndim)]


# Joining, repeating, taking apart


def _together(arrays, dtype=None):
    """Arrays as tensors of one dtype."""
    found = dtype
    if found is None:
        for a in arrays:
            found = a._dtype if found is None else promote(found, a._dtype)
    return [cast(a._t, a._dtype, found) for a in arrays], found


def _list_of(arrays, name):
    if isinstance(arrays, (ndarray, torch.Tensor)):
        arrays = list(asarray(arrays))
    if not hasattr(arrays, "__len__"):
        raise TypeError(f'arrays to {name} must be passed as a "sequence" type such as list or tuple.' if name != "concatenate" else "The first input argument needs to be a sequence")
    return [asarray(a) for a in arrays]


@public
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays one after the other along an axis."""
    arrays = _list_of(arrays, "concatenate")
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        arrays, axis = [a.reshape(-1) for a in arrays], 0
    n = arrays[0].ndim
    if not n:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = _axis(axis, n)
    for i, a in enumerate(arrays):
        if a.ndim != n:
            raise ValueError(
                f"all the input array dimensions except for the concatenation axis must match exactly, but along dimension 0, the array at "
                f"index 0 has {n} dimension(s) and the array at index {i} has {a.ndim} dimension(s)".replace(
                    "array dimensions except for the concatenation axis must match exactly, but along dimension 0,",
                    "arrays must have same number of dimensions, but",
                )
            )
        for d in range(n):
            if d != axis and a.shape[d] != arrays[0].shape[d]:
                raise ValueError(
                    f"all the input array dimensions except for the concatenation axis must match exactly, but along dimension {d}, the "
                    f"array at index 0 has size {arrays[0].shape[d]} and the array at index {i} has size {a.shape[d]}"
                )
    tensors, found = _together(arrays, None if dtype is None else resolve(dtype))
    made = ndarray(torch.cat(tensors, axis), found)
    if out is not None:
        out[...] = made
        return out
    return made


concat = concatenate


@public
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays along a new axis."""
    arrays = _list_of(arrays, "stack")
    if not arrays:
        raise ValueError("need at least one array to stack")
    if len({a.shape for a in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    tensors, found = _together(arrays, None if dtype is None else resolve(dtype))
    return ndarray(torch.stack(tensors, _axis(axis, arrays[0].ndim + 1)), found)


@public
def vstack(tup, *, dtype=None, casting="same_kind"):
    """Arrays below each other."""
    return concatenate([atleast_2d(a) for a in _list_of(tup, "stack")], 0, dtype=dtype)


@public
def hstack(tup, *, dtype=None, casting="same_kind"):
    """Arrays beside each other."""
    arrays = [atleast_1d(a) for a in _list_of(tup, "stack")]
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype)


@public
def dstack(tup):
    """Arrays behind each other."""
    return concatenate([atleast_3d(a) for a in _list_of(tup, "stack")], 2)


@public
def column_stack(tup):
    """Arrays of one axis as columns."""
    return concatenate([a.reshape(-1, 1) if a.ndim < 2 else a for a in _list_of(tup, "stack")], 1)


@public
def append(arr, values, axis=None):
    """An array with others behind it."""
    if axis is None:
        return concatenate((ravel(arr), ravel(values)))
    return concatenate((arr, values), axis)


@public
def insert(arr, obj, values, axis=None):
    """An array with others in front of a place."""
    a = asarray(arr)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, _axis(axis, a.ndim))
    if not isinstance(obj, (int, integer_types)):
        raise unavailable("insert at several places", "np.concatenate")
    at = operator.index(obj)
    at = at + a.shape[axis] if at < 0 else at
    head, tail = split(a, [at], axis)
    values = asarray(values, a._dtype)
    part = values.reshape((1,) * (a.ndim - values.ndim) + values.shape) if a.ndim > 1 else values.reshape(-1)
    if a.ndim > 1 and values.ndim < a.ndim:
        part = broadcast_to(part, tuple(1 if d == axis else s for d, s in enumerate(a.shape)))
    return concatenate((head, part, tail), axis)


@public
def delete(arr, obj, axis=None):
    """An array without some of its elements."""
    a = asarray(arr)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, _axis(axis, a.ndim))
    keep = ones(a.shape[axis], BOOL)
    keep[obj if isinstance(obj, (int, slice)) else asarray(obj)] = False
    return a[(slice(None),) * axis + (keep,)]


@public
def split(ary, indices_or_sections, axis=0):
    """An array in equal parts, or cut at places."""
    a = asarray(ary)
    if isinstance(indices_or_sections, (int, generic)) and a.shape[_axis(axis, a.ndim)] % operator.index(indices_or_sections):
        raise ValueError("array split does not result in an equal division")
    return array_split(a, indices_or_sections, axis)


@public
def array_split(ary, indices_or_sections, axis=0):
    """An array in parts that are as equal as may be."""
    a = asarray(ary)
    axis = _axis(axis, a.ndim)
    n = a.shape[axis]
    if isinstance(indices_or_sections, (int, generic)):
        parts = operator.index(indices_or_sections)
        if parts <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, more = divmod(n, parts)
        cuts = [0]
        for i in range(parts):
            cuts.append(cuts[-1] + each + (i < more))
    else:
        cuts = [0, *asarray(indices_or_sections).tolist(), n]
    return [a[(slice(None),) * axis + (slice(low, high),)] for low, high in zip(cuts, cuts[1:])]


@public
def vsplit(ary, indices_or_sections):
    """Parts below each other."""
    return split(ary, indices_or_sections, 0)


@public
def hsplit(ary, indices_or_sections):
    """Parts beside each other."""
    return split(ary, indices_or_sections, 0 if asarray(ary).ndim == 1 else 1)


@public
def tile(A, reps):
    """An array several times along each axis."""
    a = asarray(A)
    reps = tuple(asarray(reps).reshape(-1).tolist())
    return ndarray(torch.tile(a._t, reps) if a.ndim or reps else a._t.clone(), a._dtype)


@public
@of_tensors
def repeat(a, repeats, axis=None):
    """Each element several times."""
    a, counts = asarray(a), asarray(repeats)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, _axis(axis, a.ndim))
    counts = counts._t if counts.size > 1 or counts.ndim and a.shape[axis] == 1 else counts.item()
    return ndarray(torch.repeat_interleave(a._t, counts, axis), a._dtype)


@public
def pad(array, pad_width, mode="constant", *, constant_values=0, **kwargs):
    """An array with more elements around it."""
    a = asarray(array)
    widths = broadcast_to(asarray(pad_width), (a.ndim, 2)).tolist() if a.ndim else []
    if mode == "constant":
        made = full(tuple(s + low + high for s, (low, high) in zip(a.shape, widths)), 0, a._dtype)
        values = broadcast_to(asarray(constant_values), (a.ndim, 2))
        for d, (low, high) in enumerate(widths):
            rest = (slice(None),) * d
            if low:
                made[rest + (slice(0, low),)] = values[d, 0]
            if high:
                made[rest + (slice(made.shape[d] - high, None),)] = values[d, 1]
        made[tuple(slice(low, low + s) for s, (low, high) in zip(a.shape, widths))] = a
        return made
    for d, (low, high) in enumerate(widths):
        n = a.shape[d]
        at = torch.arange(-low, n + high)
        if mode == "edge":
            at = at.clamp(0, n - 1)
        elif mode == "wrap":
            at = at % n
        elif mode == "reflect":
            period = builtins.max(2 * n - 2, 1)
            at = at % period
            at = torch.where(at >= n, period - at, at)
        elif mode == "symmetric":
            at = at % (2 * n)
            at = torch.where(at >= n, 2 * n - 1 - at, at)
        else:
            raise unavailable(f"np.pad with mode '{mode}'", "mode='constant'")
        a = ndarray(a._t.index_select(d, at), a._dtype)
    return a


# Choosing and searching


@public
def where(condition, x=None, y=None, /):
    """Elements of one array or another; where a condition holds."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    c = asarray(condition)
    a, b = operand(x), operand(y)
    dtype = common([a, b])
    return ndarray_or_0d(torch.where(cast(c._t, c._dtype, BOOL), tensor_of(a, dtype), tensor_of(b, dtype)), dtype)


def ndarray_or_0d(t, dtype):
    """An array even where there are no axes."""
    return ndarray(t, dtype)


@public
def nonzero(a):
    """Where elements are not zero."""
    a = asarray(a)
    return tuple(ndarray(t, INT64) for t in a._t.nonzero(as_tuple=True))


@public
def argwhere(a):
    """The same, one row for each."""
    return ndarray(asarray(a)._t.nonzero(), INT64)


@public
def flatnonzero(a):
    """The same in flat order."""
    return ndarray(asarray(a)._t.reshape(-1).nonzero().reshape(-1), INT64)


@public
def select(condlist, choicelist, default=0):
    """The first of several arrays whose condition holds."""
    found = asarray(default)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        found = where(condition, choice, found)
    return found


@public
def choose(a, choices, out=None, mode="raise"):
    """Of several arrays the one that is named, element by element."""
    a, rows = asarray(a), broadcast_arrays(*choices)
    return take_along_axis(stack(rows), broadcast_to(a, torch.broadcast_shapes(a.shape, rows[0].shape)).reshape(1, *rows[0].shape), 0)[0]


@public
def compress(condition, a, axis=None, out=None):
    """Elements for which a condition holds."""
    a = asarray(a)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, _axis(axis, a.ndim))
    return take(a, flatnonzero(condition), axis)


@public
def extract(condition, arr):
    """The same in flat order."""
    return asarray(arr).reshape(-1)[asarray(condition, BOOL).reshape(-1)]


@public
@of_tensors
def take(a, indices, axis=None, out=None, mode="raise"):
    """Elements at positions along an axis."""
    a, at = asarray(a), asarray(indices)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, _axis(axis, a.ndim))
    if mode != "raise":
        n = a.shape[axis]
        at = _ufuncs.remainder(at, n) if mode == "wrap" else clip(at, 0, n - 1)
    found = a[(slice(None),) * axis + (at if at.ndim else at.item(),)]
    if out is not None:
        out[...] = found
        return out
    return found


@public
def take_along_axis(arr, indices, axis=-1):
    """Elements at positions that each row has of its own."""
    a, at = asarray(arr), asarray(indices)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, _axis(axis, a.ndim))
    t = at._t.to(torch.int64)
    return ndarray(torch.take_along_dim(a._t, torch.where(t < 0, t + a.shape[axis], t), axis), a._dtype)


@public
def put_along_axis(arr, indices, values, axis):
    """Writes elements at positions that each row has of its own."""
    t = asarray(indices)._t.to(torch.int64)
    source = asarray(values)
    whole = arr._t.clone()
    whole.scatter_(axis, torch.where(t < 0, t + arr.shape[axis], t), cast(source._t, source._dtype, arr._dtype).expand(t.shape))
    arr._write(whole)


@public
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, dtype=None):
    """Elements within bounds."""
    low, high = a_min if min is None else min, a_max if max is None else max
    if isinstance(a, torch.Tensor):
        return a.clamp(low, high)
    found = a
    if low is not None:
        found = _ufuncs.maximum(found, low)
    if high is not None:
        found = _ufuncs.minimum(found, high)
    if found is a:
        found = _ufuncs.positive(asarray(a))
    return found if out is None else _ufuncs.clipped_into(out, found)


def _half_even(x):
    return int(builtins.round(x))


@public
@of_tensors
def round(a, decimals=0, out=None):
    """Rounded to so many digits, halves to even."""
    a = asarray(a)
    if a._dtype.kind not in "fc":
        if decimals >= 0:
            return box(a._t.clone(), a._dtype)
        scale = 10**-decimals
        return box((torch.round(a._t.double() / scale) * scale).to(a._t.dtype), a._dtype)
    if a._dtype.kind == "c":
        raise unavailable("rounding of complex numbers", "its parts")
    t = a._t
    if decimals > 0:
        scale = torch.tensor(10.0**decimals, dtype=t.dtype)
        found = torch.round(t * scale) / scale
    elif decimals < 0:
        scale = torch.tensor(10.0**-decimals, dtype=t.dtype)
        found = torch.round(t / scale) * scale
    else:
        found = torch.round(t)
    if out is not None:
        out._write(cast(found, a._dtype, out._dtype))
        return out
    return box(found, a._dtype)


around = round


@public
def fix(x, out=None):
    """Rounded towards zero."""
    return _ufuncs.trunc(x)


@public
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Numbers in place of what is none, and of infinities."""
    a = asarray(x)
    if a._dtype.kind != "f":
        return a.copy()
    return box(torch.nan_to_num(a._t, float(nan), posinf, neginf), a._dtype)


@public
def real(val):
    """The real part."""
    a = asarray(val)
    return a.real if a.ndim else a[()].real


@public
def imag(val):
    """The imaginary part."""
    a = asarray(val)
    return a.imag if a.ndim else a[()].imag


@public
def angle(z, deg=False):
    """The angle of complex numbers."""
    a = asarray(z)
    found = _ufuncs.arctan2(a.imag, a.real)
    return _ufuncs.rad2deg(found) if deg else found


@public
def sinc(x):
    """sin(pi x) / (pi x)."""
    x = _ufuncs.multiply(asarray(x), math.pi)
    return where(_ufuncs.equal(x, 0), 1.0, _ufuncs.divide(_ufuncs.sin(x), where(_ufuncs.equal(x, 0), 1.0, x)))[()]


@public
def conj(a):
    """The conjugate."""
    return _ufuncs.conjugate(a)


conjugate = conj

# Order


@public
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    """Elements in order along an axis."""
    a = asarray(a)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, _axis(axis, a.ndim))
    return ndarray(torch.sort(a._t, dim=axis, stable=True).values, a._dtype)


@public
@of_tensors
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """Where the elements in order are; equal ones in the order that they have."""
    a = asarray(a)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, _axis(axis, a.ndim))
    return ndarray(torch.sort(a._t, dim=axis, stable=True).indices, INT64)


@public
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    """Where the smallest elements are: in order, which is more than is promised."""
    return argsort(a, axis)


@public
def partition(a, kth, axis=-1, kind="introselect", order=None):
    """The smallest elements first: in order, which is more than is promised."""
    return sort(a, axis)


@public
def lexsort(keys, axis=-1):
    """Where the rows in order are, by the last key first."""
    keys = [asarray(k)._t for k in keys]
    order = torch.arange(keys[0].shape[-1])
    for key in keys:
        order = order[torch.sort(key[order], stable=True).indices]
    return ndarray(order, INT64)


@public
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    """Each element once, in order."""
    a = asarray(ar)
    t = a._t
    if axis is None:
        flat = t.reshape(-1)
        if flat.dtype.is_complex:
            raise unavailable("unique of complex numbers")
        ordered, order = torch.sort(flat.to(torch.uint8) if a._dtype is BOOL else flat, stable=True)
        fresh = torch.ones(flat.shape, dtype=torch.bool)
        fresh[1:] = ordered[1:] != ordered[:-1]
        if equal_nan and flat.dtype.is_floating_point:
            fresh[1:] &= ~((ordered[1:] != ordered[1:]) & (ordered[:-1] != ordered[:-1]))
        values, first, group = flat[order][fresh], order[fresh], torch.cumsum(fresh, 0) - 1
        inverse = torch.empty_like(order)
        inverse[order] = group
        inverse = inverse.reshape(a.shape)
        counts = torch.bincount(group, minlength=values.numel()) if group.numel() else group
    else:
        axis = _axis(axis, a.ndim)
        values, inverse, counts = torch.unique(t, return_inverse=True, return_counts=True, dim=axis)
        n = t.shape[axis]
        first = torch.full((values.shape[axis],), n).scatter_reduce(0, inverse, torch.arange(n), "amin")
    found = [ndarray(values, a._dtype)]
    for wanted, part in ((return_index, first), (return_inverse, inverse), (return_counts, counts)):
        found += [ndarray(part, INT64)] if wanted else []
    return found[0] if len(found) == 1 else tuple(found)


@public
def searchsorted(a, v, side="left", sorter=None):
    """Where elements would be put into what is in order."""
    a, b = asarray(a), asarray(v)
    a = a if sorter is None else a[sorter]
    dtype = promote(a._dtype, b._dtype)
    found = torch.searchsorted(cast(a._t, a._dtype, dtype).contiguous(), cast(b._t, b._dtype, dtype).contiguous(), right=side == "right")
    return box(found, INT64)


@public
def digitize(x, bins, right=False):
    """The number of the bin that each element is in."""
    bins = asarray(bins)
    if bins.size > 1 and bins[0] > bins[-1]:
        return _ufuncs.subtract(bins.size, searchsorted(bins[::-1], x, "left" if not right else "right"))
    return searchsorted(bins, x, "left" if right else "right")


@public
def bincount(x, /, weights=None, minlength=0):
    """How often each integer is there."""
    a = asarray(x)
    if a._dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {a._dtype!r} to dtype('int64') according to the rule 'safe'")
    t = a._t.to(torch.int64)
    if a.size and t.min().item() < 0:
        raise ValueError("'list' argument must have no negative elements")
    if weights is None:
        return ndarray(torch.bincount(t, minlength=minlength), INT64)
    return ndarray(torch.bincount(t, asarray(weights, FLOAT64)._t, minlength), FLOAT64)


@public
def histogram(a, bins=10, range=None, density=None, weights=None):
    """How many elements are in each bin, and the bins' edges."""
    a = asarray(a).reshape(-1)
    if isinstance(bins, str):
        raise unavailable("histogram with bins chosen by a rule", "a number of bins")
    edges = asarray(bins)
    if edges.ndim == 0:
        count = edges.item()
        low, high = (a.min(), a.max()) if range is None and a.size else range or (0, 1)
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = linspace(low, high, count + 1, dtype=a._dtype if a._dtype.kind == "f" else FLOAT64)
    inside = _ufuncs.logical_and(_ufuncs.greater_equal(a, edges[0]), _ufuncs.less_equal(a, edges[-1]))
    kept_values = a[inside]
    at = clip(_ufuncs.subtract(searchsorted(edges, kept_values, "right"), 1), 0, edges.size - 2)
    counts = bincount(at, None if weights is None else asarray(weights).reshape(-1)[inside], minlength=edges.size - 1)
    if density:
        return _ufuncs.divide(_ufuncs.divide(counts, diff(edges)), counts.sum()), edges
    return counts, edges


@public
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Which elements are among others."""
    a, b = asarray(element), asarray(list(test_elements) if isinstance(test_elements, (set, frozenset)) else test_elements)
    dtype = promote(a._dtype, b._dtype)
    found = torch.isin(cast(a._t, a._dtype, dtype), cast(b._t, b._dtype, dtype))
    return box(~found if invert else found, BOOL)


@public
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """What two arrays share, in order."""
    if return_indices:
        raise unavailable("intersect1d with indices", "np.isin")
    a = unique(ar1)
    return a[isin(a, ar2)]


@public
def union1d(ar1, ar2):
    """What is in either of two arrays, in order."""
    return unique(concatenate((ravel(ar1), ravel(ar2))))


@public
def setdiff1d(ar1, ar2, assume_unique=False):
    """What is in one array and not in another, in order."""
    a = unique(ar1)
    return a[isin(a, ar2, invert=True)]


# Calculus


@public
def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours."""
    a = asarray(a)
    axis = _axis(axis, a.ndim)
    parts = [x for x in (prepend, a, append) if x is not None]
    if len(parts) > 1:
        shape = tuple(1 if d == axis else s for d, s in enumerate(a.shape))
        a = concatenate([p if asarray(p).ndim else broadcast_to(asarray(p), shape) for p in parts], axis)
    for _ in range(n):
        low, high = (slice(None),) * axis + (slice(None, -1),), (slice(None),) * axis + (slice(1, None),)
        a = _ufuncs.not_equal(a[high], a[low]) if a._dtype is BOOL else _ufuncs.subtract(a[high], a[low])
    return a


@public
def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours in flat order."""
    return diff(ravel(ary), prepend=None, append=None)


@public
def gradient(f, *varargs, axis=None, edge_order=1):
    """Slopes by differences to both sides."""
    f = asarray(f)
    if edge_order != 1:
        raise unavailable("gradient with edge_order=2")
    axes = _reductions.axes_of(axis, f.ndim)
    spacing = list(varargs) if len(varargs) > 1 else list(varargs or (1.0,)) * len(axes)
    f, found = f if f._dtype.kind in "fc" else f.astype(FLOAT64), []
    for d, h in zip(axes, spacing):
        at = lambda *part: f[(slice(None),) * d + (slice(*part),)]
        out = empty_like(f)
        put = lambda value, *part: out.__setitem__((slice(None),) * d + (slice(*part),), value)
        h = asarray(h)
        if h.ndim:
            step = diff(h)
            shape = tuple(-1 if i == d else 1 for i in range(f.ndim))
            before, after = step[:-1], step[1:]
            a = _ufuncs.divide(_ufuncs.negative(after), before * (before + after)).reshape(shape)
            b = ((after - before) / (before * after)).reshape(shape)
            c = (before / (after * (before + after))).reshape(shape)
            put(a * at(None, -2) + b * at(1, -1) + c * at(2, None), 1, -1)
            first, last = step[0], step[-1]
        else:
            first = last = h.item()
            put((at(2, None) - at(None, -2)) / (2.0 * first), 1, -1)
        put((at(1, 2) - at(0, 1)) / first, 0, 1)
        put((at(-1, None) - at(-2, -1)) / last, -1, None)
        found.append(out)
    return found[0] if len(found) == 1 else tuple(found)


@public
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral by trapezoids."""
    y = asarray(y)
    axis = _axis(axis, y.ndim)
    d = dx if x is None else diff(asarray(x), axis=-1 if asarray(x).ndim == 1 else axis)
    if x is not None and asarray(x).ndim == 1 and y.ndim > 1:
        d = d.reshape(tuple(-1 if i == axis else 1 for i in range(y.ndim)))
    low, high = (slice(None),) * axis + (slice(None, -1),), (slice(None),) * axis + (slice(1, None),)
    return _reductions.sum(d * (y[high] + y[low]) / 2.0, axis)


@public
def interp(x, xp, fp, left=None, right=None, period=None):
    """Between points by straight lines."""
    if period is not None:
        raise unavailable("interp with a period")
    x, xp, fp = asarray(x, FLOAT64), asarray(xp, FLOAT64), asarray(fp, FLOAT64)
    at = clip(_ufuncs.subtract(searchsorted(xp, x, "right"), 1), 0, builtins.max(xp.size - 2, 0))
    at = asarray(at)
    low, high = xp[at], xp[_ufuncs.minimum(at + 1, xp.size - 1)]
    slope = _ufuncs.divide(fp[_ufuncs.minimum(at + 1, xp.size - 1)] - fp[at], where(_ufuncs.equal(high, low), 1.0, high - low))
    found = slope * (x - low) + fp[at]
    found = where(x >= xp[-1], fp[-1] if right is None else right, found) if right is None else where(x > xp[-1], right, where(x == xp[-1], fp[-1], found))
    found = where(x < xp[0], fp[0] if left is None else left, found)
    return found[()] if asarray(found).ndim == 0 else found


@public
def convolve(a, v, mode="full"):
    """The convolution of two sequences."""
    a, v = asarray(a), asarray(v)
    if v.size > a.size:
        a, v = v, a
    dtype = promote(a._dtype, v._dtype)
    work = dtype if dtype.kind in "fc" else FLOAT64
    x, k = cast(a._t, a._dtype, work), cast(v._t, v._dtype, work)
    n, m = x.numel(), k.numel()
    if not m:
        raise ValueError("v cannot be empty")
    padded = torch.cat([torch.zeros(m - 1, dtype=x.dtype), x, torch.zeros(m - 1, dtype=x.dtype)])
    whole = (padded.unfold(0, m, 1) * k.flip(0)).sum(1)
    low, count = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    part = whole[low : low + count]
    return ndarray(cast(torch.round(part) if work is not dtype else part, work, dtype), dtype)


@public
def correlate(a, v, mode="valid"):
    """The correlation of two sequences."""
    return convolve(a, _ufuncs.conjugate(asarray(v)[::-1]), mode)


@public
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Covariances of rows."""
    from numpy._linear import matmul

    if fweights is not None or aweights is not None:
        raise unavailable("cov with weights")
    x = atleast_2d(asarray(m, FLOAT64))
    x = x.T if not rowvar and asarray(m).ndim > 1 else x
    if y is not None:
        x = concatenate((x, atleast_2d(asarray(y, FLOAT64))), 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    x = x - _reductions.mean(x, axis=1, keepdims=True)
    found = matmul(x, _ufuncs.conjugate(x).T) * (1 / asarray(x.shape[1] - ddof, FLOAT64)[()])
    return found.squeeze()[()] if found.size == 1 else found


@public
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """Correlations of rows."""
    c = cov(x, y, rowvar)
    if asarray(c).ndim == 0:
        return c / c
    d = _ufuncs.sqrt(diag(c))
    return clip(c / d[:, None] / d[None, :], -1, 1)


@public
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The polynomial of least squares, the highest power first."""
    from numpy.linalg import lstsq

    if full or cov:
        raise unavailable("polyfit with more than the coefficients")
    x, y = asarray(x, FLOAT64), asarray(y, FLOAT64)
    left = vander(x, deg + 1)
    if w is not None:
        left, y = left * asarray(w)[:, None], y * asarray(w)
    scale = _ufuncs.sqrt(_reductions.sum(left * left, axis=0))
    return (lstsq(left / scale, y, None)[0].T / scale).T


@public
def polyval(p, x):
    """A polynomial's values, the highest power first."""
    x = asarray(x)
    found = zeros_like(x, dtype=promote(asarray(p)._dtype, x._dtype))
    for c in asarray(p):
        found = found * x + c
    return found[()]


@public
def vander(x, N=None, increasing=False):
    """Powers as columns."""
    x = asarray(x)
    N = x.size if N is None else N
    columns = [_ufuncs.power(x, k) if k else ones_like(x) for k in range(N)]
    return stack(columns if increasing else columns[::-1], 1)


# Comparing


@public
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Which elements are close."""
    a, b = asarray(a), asarray(b)
    if b._dtype.kind not in "fc":
        b = b.astype(FLOAT64)
    finite = _ufuncs.logical_and(_ufuncs.isfinite(b), _ufuncs.isfinite(a))
    near = _ufuncs.less_equal(_ufuncs.absolute(_ufuncs.subtract(a, b)), atol + rtol * _ufuncs.absolute(b))
    found = _ufuncs.logical_or(_ufuncs.logical_and(near, _ufuncs.isfinite(b)), _ufuncs.equal(a, b))
    found = _ufuncs.logical_and(found, _ufuncs.logical_or(finite, _ufuncs.equal(a, b)))
    if equal_nan:
        found = _ufuncs.logical_or(found, _ufuncs.logical_and(_ufuncs.isnan(a), _ufuncs.isnan(b)))
    return found


@public
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close."""
    return bool(_reductions.all(isclose(a, b, rtol, atol, equal_nan)))


@public
def array_equal(a1, a2, equal_nan=False):
    """Whether two arrays have one shape and the same elements."""
    a, b = asarray(a1), asarray(a2)
    if a.shape != b.shape:
        return False
    same = _ufuncs.equal(a, b)
    if equal_nan and a._dtype.kind in "fc" and b._dtype.kind in "fc":
        same = _ufuncs.logical_or(same, _ufuncs.logical_and(_ufuncs.isnan(a), _ufuncs.isnan(b)))
    return bool(_reductions.all(same))


@public
def array_equiv(a1, a2):
    """The same with broadcasting."""
    try:
        return bool(_reductions.all(_ufuncs.equal(a1, a2)))
    except (ValueError, RuntimeError):
        return False


def result_type(*arrays_and_dtypes):
    """The dtype that operands have in common."""
    operands = []
    for x in arrays_and_dtypes:
        is_value = isinstance(x, (ndarray, generic, int, float, complex, list, tuple, torch.Tensor)) and not isinstance(x, type)
        operands.append(operand(x) if is_value else (None, resolve(x), None))
    return common(operands)


def min_scalar_type(a):
    """The smallest dtype that holds a number."""
    a = asarray(a)
    if a.ndim or a._dtype.kind not in "iu":
        return a._dtype
    value = a.item()
    for name in ("uint8", "uint16", "uint32", "uint64") if value >= 0 else ("int8", "int16", "int32", "int64"):
        low, high = _dtypes.bounds(resolve(name))
        if low <= value <= high:
            return resolve(name)
    return a._dtype


def isscalar(element):
    """Whether something is a scalar."""
    return isinstance(element, (generic, int, float, complex, str, bytes))


def iscomplexobj(x):
    """Whether something is of complex numbers."""
    return asarray(x)._dtype.kind == "c"


def isrealobj(x):
    """Whether something is not of complex numbers."""
    return not iscomplexobj(x)


@public
def isreal(x):
    """Which elements have no imaginary part."""
    return _ufuncs.equal(imag(x), 0)


def issubdtype(arg1, arg2):
    """Whether a dtype is of a kind."""
    def scalar_type(x):
        if isinstance(x, type) and issubclass(x, generic):
            return x
        return resolve(x).type

    return issubclass(scalar_type(arg1), scalar_type(arg2))


def shares_memory(a, b, max_work=None):
    """Whether two arrays have memory in common."""
    a, b = asarray(a), asarray(b)
    if not a.size or not b.size or a._p.untyped_storage().data_ptr() != b._p.untyped_storage().data_ptr():
        return False

    def reach(p):
        low = p.storage_offset()
        return low, low + builtins.sum((n - 1) * s for n, s in zip(p.shape, p.stride()))

    (low, high), (start, end) = reach(a._p), reach(b._p)
    return low <= end and start <= high


may_share_memory = shares_memory

# Loops


def ndenumerate(arr):
    """Indices and elements."""
    a = asarray(arr)
    return ((index, a[index]) for index in ndindex(*a.shape))


def ndindex(*shape):
    """Indices of a shape."""
    import itertools

    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return itertools.product(*map(range, shape))


class vectorize:
    """A function of numbers, made one of arrays."""

    def __init__(self, pyfunc, otypes=None, doc=None, excluded=None, cache=False, signature=None):
        if signature is not None or excluded:
            raise unavailable("vectorize with signature or excluded", "a loop")
        self.pyfunc, self.otypes = pyfunc, otypes

    def __call__(self, *args):
        arrays = broadcast_arrays(*args)
        flat = [a.reshape(-1) for a in arrays]
        rows = [self.pyfunc(*(a[i] for a in flat)) for i in range(flat[0].size)]
        if rows and isinstance(rows[0], tuple):
            kinds = self.otypes or [None] * len(rows[0])
            return tuple(array(list(column), kind).reshape(arrays[0].shape) for column, kind in zip(zip(*rows), kinds))
        return array(rows, self.otypes[0] if self.otypes else None).reshape(arrays[0].shape)[()]


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """What a function makes of each row along an axis."""
    a = moveaxis(arr, axis, -1)
    rows = [asarray(func1d(row, *args, **kwargs)) for row in a.reshape(-1, a.shape[-1])]
    made = stack(rows).reshape(*a.shape[:-1], *rows[0].shape)
    return moveaxis(made, -1, axis) if rows[0].ndim == 1 else made


@public
def unravel_index(indices, shape, order="C"):
    """Coordinates of positions in flat order."""
    at, found = asarray(indices), []
    for n in reversed(_shaped(shape)):
        found.append(_ufuncs.remainder(at, n))
        at = _ufuncs.floor_divide(at, n)
    return tuple(found[::-1])


@public
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """Positions in flat order of coordinates."""
    found = 0
    for at, n in zip(multi_index, dims):
        found = _ufuncs.add(_ufuncs.multiply(found, n), asarray(at))
    return found


integer_types = generic


def _linear(name):
    def call(*args, **kwargs):
        from numpy import _linear

        return getattr(_linear, name)(*args, **kwargs)

    return _named(name, call)


dot, vdot, inner, outer, tensordot, einsum, kron, cross = map(_linear, "dot vdot inner outer tensordot einsum kron cross".split())
