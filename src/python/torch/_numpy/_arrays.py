"""numpy's functions that make arrays, and those that change shapes, join, sort and search, as functions of tensors."""

import torch
from numpy import _dtypes
from torch._numpy._operands import (
    axes_of, axis_of, cast, cast_as, default_float, default_int, flat_without_axis, is_number, plain, result_type, same_type, sizes_of,
    tensor, tensor_or_number, torch_dtype, unsupported,
)

TABLE = {}


def _define(function):
    TABLE[function.__name__] = function
    return function


# Making arrays


@_define
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    unsupported(order, "K", "order")
    unsupported(subok, False, "subok")
    unsupported(like, None, "like")
    t = tensor(object, torch_dtype(dtype))
    t = t.view((1,) * (ndmin - t.ndim) + tuple(t.shape)) if ndmin > t.ndim else t
    return t.clone() if copy else t


def _of_dtype(spec):
    def call(value=0, dtype=None):
        return cast(tensor(value), spec._torch)

    call.__name__ = spec.type.__name__
    _define(call)


for _spec in _dtypes.OF_TORCH.values():
    _of_dtype(_spec)


@_define
def asarray(a, dtype=None, order="K", *, like=None):
    return array(a, dtype, copy=False, order=order, like=like)


@_define
def ascontiguousarray(a, dtype=None, *, like=None):
    return asarray(a, dtype, like=like).contiguous()


@_define
def arange(start=None, stop=None, step=1, dtype=None, *, like=None):
    unsupported(like, None, "like")
    if step == 0:
        raise ZeroDivisionError
    if stop is None:
        start, stop = 0, start
    bounds = [tensor_or_number(0 if x is None else x) for x in (start, stop, step)]
    dtype = torch_dtype(dtype)
    if any(isinstance(x, complex) or isinstance(x, torch.Tensor) and x.is_complex() for x in bounds):
        raise NotImplementedError("arange of complex numbers")
    if dtype is None:
        of_floats = any(isinstance(x, (float, torch.SymFloat)) or isinstance(x, torch.Tensor) and x.is_floating_point() for x in bounds)
        dtype = default_float() if of_floats else default_int()
    start, stop, step = bounds
    if (step > 0 and start > stop) or (step < 0 and start < stop):
        return torch.empty(0, dtype=dtype)
    return cast(torch.arange(start, stop, step, dtype=torch.float64 if dtype.is_complex else dtype), dtype)


@_define
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    unsupported(axis, 0, "axis")
    unsupported(retstep, False, "retstep")
    unsupported(endpoint, True, "endpoint")
    dtype = torch_dtype(dtype)
    return torch.linspace(tensor(start), tensor(stop), num, dtype=default_float() if dtype is None else dtype)


@_define
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    unsupported(axis, 0, "axis")
    unsupported(endpoint, True, "endpoint")
    return torch.logspace(plain(start), plain(stop), num, base=base, dtype=torch_dtype(dtype))


def _filled(name):
    def of_sizes(shape, dtype=None, order="C", *, like=None):
        unsupported(order, "C", "order")
        unsupported(like, None, "like")
        dtype = torch_dtype(dtype)
        return getattr(torch, name)(shape, dtype=default_float() if dtype is None else dtype)

    def like_another(a, dtype=None, order="K", subok=False, shape=None):
        unsupported(order, "K", "order")
        unsupported(subok, False, "subok")
        result = getattr(torch, f"{name}_like")(tensor(a), dtype=torch_dtype(dtype))
        return result if shape is None else result.reshape(shape)

    of_sizes.__name__, like_another.__name__ = name, f"{name}_like"
    _define(of_sizes)
    _define(like_another)


for _name in ("empty", "zeros", "ones"):
    _filled(_name)


@_define
def full(shape, fill_value, dtype=None, order="C", *, like=None):
    unsupported(order, "C", "order")
    unsupported(like, None, "like")
    value, dtype = tensor(fill_value), torch_dtype(dtype)
    return torch.full(sizes_of(shape), value, dtype=value.dtype if dtype is None else dtype)


@_define
def full_like(a, fill_value, dtype=None, order="K", subok=False, shape=None):
    unsupported(order, "K", "order")
    unsupported(subok, False, "subok")
    result = torch.full_like(tensor(a), plain(fill_value), dtype=torch_dtype(dtype))
    return result if shape is None else result.reshape(shape)


@_define
def eye(N, M=None, k=0, dtype=None, order="C", *, like=None):
    unsupported(order, "C", "order")
    unsupported(like, None, "like")
    dtype = torch_dtype(dtype)
    result = torch.zeros(N, N if M is None else M, dtype=default_float() if dtype is None else dtype)
    result.diagonal(k).fill_(1)
    return result


@_define
def identity(n, dtype=None, *, like=None):
    unsupported(like, None, "like")
    return torch.eye(n, dtype=torch_dtype(dtype))


@_define
def tri(N, M=None, k=0, dtype=None, *, like=None):
    unsupported(like, None, "like")
    return torch.tril(torch.ones((N, N if M is None else M), dtype=torch_dtype(dtype)), diagonal=k)


@_define
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ones = (1,) * len(xi)
    made = [tensor(x).reshape(ones[:i] + (-1,) + ones[i + 1 :]) for i, x in enumerate(xi)]
    if indexing == "xy" and len(made) > 1:
        made[0] = made[0].reshape((1, -1) + ones[2:])
        made[1] = made[1].reshape((-1, 1) + ones[2:])
    if not sparse:
        made = torch.broadcast_tensors(*made)
    return [x.clone() if copy else x for x in made]


@_define
def indices(dimensions, dtype=int, sparse=False):
    dimensions, dtype = tuple(dimensions), torch_dtype(dtype)
    ones = (1,) * len(dimensions)
    parts = [torch.arange(n, dtype=dtype).reshape(ones[:i] + (n,) + ones[i + 1 :]) for i, n in enumerate(dimensions)]
    if sparse:
        return tuple(parts)
    result = torch.empty((len(parts), *dimensions), dtype=dtype)
    for i, part in enumerate(parts):
        result[i] = part
    return result


# Shapes


@_define
def copy(a, order="K", subok=False):
    unsupported(order, "K", "order")
    unsupported(subok, False, "subok")
    return tensor(a).clone()


@_define
def copyto(dst, src, casting="same_kind", where=True):
    unsupported(where, True, "where")
    target = tensor(dst)
    target.copy_(cast_as(tensor(src), target.dtype, casting))


@_define
def ndim(a):
    return tensor(a).ndim


@_define
def shape(a):
    return tuple(tensor(a).shape)


@_define
def size(a, axis=None):
    return tensor(a).numel() if axis is None else tensor(a).shape[axis]


@_define
def reshape(a, newshape, order="C"):
    unsupported(order, "C", "order")
    sizes = newshape if isinstance(newshape, (tuple, list)) else (newshape,)
    return tensor(a).reshape(sizes[0] if len(sizes) == 1 else sizes)


@_define
def ravel(a, order="C"):
    unsupported(order, "C", "order")
    return torch.flatten(tensor(a))


@_define
def transpose(a, axes=None):
    a = tensor(a)
    if axes is None or axes in ((), (None,)):
        axes = tuple(reversed(range(a.ndim)))
    elif isinstance(axes, (tuple, list)) and len(axes) == 1:
        axes = axes[0]
    return a.permute(axes)


@_define
def squeeze(a, axis=None):
    a = tensor(a)
    if axis is None:
        return a.squeeze()
    for one in axis if isinstance(axis, tuple) else (axis,):
        a = a.squeeze(one)
    return a


@_define
def expand_dims(a, axis):
    a = tensor(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes, sizes = axes_of(axis, a.ndim + count), iter(a.shape)
    return a.view([1 if d in axes else next(sizes) for d in range(a.ndim + count)])


@_define
def swapaxes(a, axis1, axis2):
    a = tensor(a)
    return torch.swapaxes(a, axis_of(axis1, a.ndim), axis_of(axis2, a.ndim))


@_define
def moveaxis(a, source, destination):
    a = tensor(a)
    return torch.moveaxis(a, axes_of(source, a.ndim), axes_of(destination, a.ndim))


@_define
def roll(a, shift, axis=None):
    a = tensor(a)
    if axis is not None:
        axis = axes_of(axis, a.ndim, repeated=True)
        shift = shift if isinstance(shift, tuple) else (shift,) * len(axis)
    return torch.roll(a, shift, axis)


@_define
def flip(m, axis=None):
    m = tensor(m)
    return torch.flip(m, tuple(range(m.ndim)) if axis is None else axes_of(axis, m.ndim))


@_define
def rot90(m, k=1, axes=(0, 1)):
    m = tensor(m)
    return torch.rot90(m, k, axes_of(axes, m.ndim))


def _of_arrays(name):
    def call(*arrays):
        result = getattr(torch, name)(*map(tensor, arrays))
        return list(result) if isinstance(result, tuple) else result

    call.__name__ = name
    _define(call)


for _name in "atleast_1d atleast_2d atleast_3d flipud fliplr".split():
    _of_arrays(_name)


@_define
def broadcast_to(array, shape, subok=False):
    unsupported(subok, False, "subok")
    return torch.broadcast_to(tensor(array), sizes_of(shape))


@_define
def broadcast_arrays(*args, subok=False):
    unsupported(subok, False, "subok")
    return list(torch.broadcast_tensors(*map(tensor, args)))


@_define
def tile(A, reps):
    return torch.tile(tensor(A), sizes_of(reps))


@_define
def repeat(a, repeats, axis=None):
    return torch.repeat_interleave(tensor(a), tensor_or_number(repeats), axis)


@_define
def diagonal(a, offset=0, axis1=0, axis2=1):
    a = tensor(a)
    return torch.diagonal(a, offset, axis_of(axis1, a.ndim), axis_of(axis2, a.ndim))


@_define
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    unsupported(out, None, "out")
    return torch.diagonal(tensor(a), offset, dim1=axis1, dim2=axis2).sum(-1, dtype=torch_dtype(dtype))


def _of_diagonals(name):
    def call(a, k=0):
        return getattr(torch, name)(tensor(a), k)

    call.__name__ = name
    _define(call)


for _name in "tril triu diag diagflat".split():
    _of_diagonals(_name)


# Joining and splitting


def _joined(arrays, dtype, casting):
    arrays = [tensor(a) for a in arrays]
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    dtype = torch_dtype(dtype)
    dtype = result_type(*arrays) if dtype is None else dtype
    return [cast_as(a, dtype, casting) for a in arrays]


@_define
def concatenate(arrays, axis=0, out=None, dtype=None, casting="same_kind"):
    unsupported(out, None, "out")
    arrays = _joined(arrays, dtype, casting)
    return torch.cat([a.flatten() for a in arrays], 0) if axis is None else torch.cat(arrays, axis)


@_define
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    unsupported(out, None, "out")
    arrays = _joined(arrays, dtype, casting)
    return torch.stack(arrays, axis_of(axis, arrays[0].ndim + 1))


def _stacked(name):
    def call(tup, *, dtype=None, casting="same_kind"):
        return getattr(torch, name)(_joined(tup, dtype, casting))

    call.__name__ = name
    _define(call)


for _name in "vstack hstack dstack column_stack".split():
    _stacked(_name)
TABLE["row_stack"] = TABLE["vstack"]


@_define
def append(arr, values, axis=None):
    arr, values = tensor(arr), tensor(values)
    if axis is None:
        arr, values = arr if arr.ndim == 1 else arr.flatten(), values.flatten()
        axis = arr.ndim - 1
    return concatenate((arr, values), axis)


def _parts(a, sections, axis, is_equal):
    a = tensor(a)
    size = a.shape[axis]
    if isinstance(sections, (list, tuple)):
        ends = [end for end in sections if end <= size]
        extra = len(sections) - len(ends)
        ends.append(size)
        return torch.split(a, [ends[0], *(end - begin for begin, end in zip(ends, ends[1:])), *[0] * extra], axis)
    axis = axis_of(axis, a.ndim)
    if is_equal and size % sections:
        raise ValueError("array split does not result in an equal division")
    each, longer = size // sections, size % sections
    return torch.split(a, [each + 1] * longer + [each] * (sections - longer), axis)


@_define
def split(ary, indices_or_sections, axis=0):
    return _parts(ary, indices_or_sections, axis, True)


@_define
def array_split(ary, indices_or_sections, axis=0):
    return _parts(ary, indices_or_sections, axis, False)


@_define
def hsplit(ary, indices_or_sections):
    return _parts(ary, indices_or_sections, 1 if tensor(ary).ndim > 1 else 0, True)


@_define
def vsplit(ary, indices_or_sections):
    return _parts(ary, indices_or_sections, 0, True)


# Order and search


def _in_order(a, axis):
    a = tensor(a)
    if a.is_complex():
        raise NotImplementedError(f"sorting {a.dtype} is not supported")
    return flat_without_axis(a, axis)


@_define
def sort(a, axis=-1, kind=None, order=None):
    unsupported(order, None, "order")
    a, axis = _in_order(a, axis)
    return torch.sort(a, dim=axis, stable=kind == "stable").values


@_define
def argsort(a, axis=-1, kind=None, order=None):
    unsupported(order, None, "order")
    a, axis = _in_order(a, axis)
    return torch.argsort(a, dim=axis, stable=kind == "stable")


@_define
def searchsorted(a, v, side="left", sorter=None):
    return torch.searchsorted(tensor(a), tensor(v), side=side, sorter=None if sorter is None else tensor(sorter))


@_define
def nonzero(a):
    return torch.nonzero(tensor(a), as_tuple=True)


@_define
def argwhere(a):
    return torch.argwhere(tensor(a))


@_define
def flatnonzero(a):
    return torch.flatten(tensor(a)).nonzero(as_tuple=True)[0]


@_define
def bincount(x, weights=None, minlength=0):
    x = tensor(x)
    x = cast_as(x if x.numel() else x.new_empty(0, dtype=torch.int64), default_int(), "safe")
    return torch.bincount(x, None if weights is None else tensor(weights), minlength)


@_define
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True):
    unsupported(return_index, False, "return_index")
    unsupported(equal_nan, True, "equal_nan")
    ar, axis = flat_without_axis(tensor(ar), axis)
    return torch.unique(ar, return_inverse=return_inverse, return_counts=return_counts, dim=axis)


@_define
def take(a, indices, axis=None, out=None, mode="raise"):
    unsupported(mode, "raise", "mode")
    unsupported(out, None, "out")
    a, axis = flat_without_axis(tensor(a), axis)
    return a[(slice(None),) * axis + (tensor(indices), ...)]


@_define
def take_along_axis(arr, indices, axis=-1):
    arr, axis = flat_without_axis(tensor(arr), axis)
    return torch.take_along_dim(arr, tensor(indices), axis)


# Products


def _product(name, of_short_floats=False):
    def call(a, b):
        a, b = same_type(tensor(a), tensor(b))
        dtype = a.dtype
        work = {torch.bool: torch.uint8}.get(dtype, dtype)
        work = torch.float32 if dtype is torch.float16 and of_short_floats else work
        return cast(getattr(torch, name)(cast(a, work), cast(b, work)), dtype)

    call.__name__ = name
    _define(call)
    return call


_matmul = _product("matmul", True)
_product("inner", True)


@_define
def matmul(x1, x2, out=None, *, casting="same_kind", order="K", dtype=None, subok=False):
    unsupported(out, None, "out")
    unsupported(order, "K", "order")
    unsupported(subok, False, "subok")
    a, b, dtype = tensor(x1), tensor(x2), torch_dtype(dtype)
    return _matmul(a, b) if dtype is None else _matmul(cast_as(a, dtype, casting), cast_as(b, dtype, casting))


@_define
def dot(a, b, out=None):
    unsupported(out, None, "out")
    a, b = same_type(tensor(a), tensor(b))
    dtype = a.dtype
    if dtype is torch.bool:
        a, b = a.to(torch.uint8), b.to(torch.uint8)
    return cast(torch.matmul(a, b) if a.ndim and b.ndim else a * b, dtype)


@_define
def outer(a, b, out=None):
    unsupported(out, None, "out")
    return torch.outer(tensor(a), tensor(b))


@_define
def kron(a, b):
    return torch.kron(tensor(a), tensor(b))


@_define
def tensordot(a, b, axes=2):
    axes = [[axis] if is_number(axis) else axis for axis in axes] if isinstance(axes, (list, tuple)) else axes
    return torch.tensordot(*same_type(tensor(a), tensor(b)), dims=axes)


@_define
def einsum(subscripts, *operands, out=None, dtype=None, order="K", casting="safe", optimize=False):
    unsupported(out, None, "out")
    unsupported(order, "K", "order")
    if not isinstance(subscripts, str):
        raise NotImplementedError("einsum of lists of axes")
    operands, dtype = [tensor(o) for o in operands], torch_dtype(dtype)
    dtype = result_type(*operands) if dtype is None else dtype
    if dtype is torch.float16:
        dtype = torch.float32
    elif dtype in (torch.uint8, torch.int8, torch.int16, torch.int32):
        dtype = torch.int64
    return torch.einsum(subscripts, *(cast_as(o, dtype, casting) for o in operands))
