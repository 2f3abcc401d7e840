"""`ndarray`: a tensor with numpy's dtype, indexing and operators.

The tensor has the array's memory, so that `torch.from_numpy` and `Tensor.numpy` share it. PyTorch has no negative strides: axes that
numpy runs through backwards are named in `_flips`, beside a tensor that runs forwards.
"""

import operator

import torch
from torch import _native_compile, _native_fake, _native_transforms

from numpy import _dtypes
from numpy._absent import unavailable
from numpy._capture import _is_compiling, beside_tensor, captured, outside, public, shown_operator, traces
from numpy._dtypes import BOOL, FLOAT64, INT64, OF_TORCH, UINT64, WIDE_UNSIGNED, resolve
from numpy._scalars import COMPARISONS, OPERATORS, UNARY, generic, make

_Plain = torch.Tensor


class ndarray:
    """An array of one dtype."""

    __slots__ = ("_p", "_flips", "_dtype", "_base", "__weakref__")
    __module__ = "numpy"
    __array_priority__ = 0.0

    def __new__(cls, *args, **kwargs):
        if type(args[0] if args else None) is not _Plain or kwargs:
            from numpy._functions import empty

            return empty(*args, **kwargs)
        return object.__new__(cls)

    def __init__(self, t, dtype=None, flips=(), base=None):
        if type(t) is _Plain:
            self._p, self._dtype, self._flips, self._base = t, dtype, flips, base

    @property
    def _t(self):
        """Its elements as a tensor: the memory itself, or, where an axis is flipped, a copy."""
        return self._p.flip(self._flips) if self._flips else self._p

    def _write(self, t):
        """Writes elements of its dtype, broadcast."""
        if self._flips:
            t = t.expand(self._p.shape).flip(self._flips)
        if t.dim() > self._p.dim():
            t = t.reshape(t.shape[t.dim() - self._p.dim() :])
        # What is written may lie in the memory that is written to.
        self._p.copy_(t.clone() if t.untyped_storage().data_ptr() == self._p.untyped_storage().data_ptr() else t)

    # What it is

    dtype = property(lambda self: _attribute_outside(self, lambda: self._dtype))
    ndim = property(lambda self: self._p.dim())
    size = property(lambda self: self._p.numel())
    itemsize = property(lambda self: self._dtype.itemsize)
    nbytes = property(lambda self: self._dtype.itemsize * self._p.numel())
    base = property(lambda self: _attribute_outside(self, lambda: self._base))
    flags = property(lambda self: _attribute_outside(self, lambda: Flags(self)))

    @property
    def shape(self):
        return tuple(self._p.shape)

    @shape.setter
    def shape(self, shape):
        view = self._t.view(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,))
        self._p, self._flips = view, ()

    @property
    def strides(self):
        size = self._dtype.itemsize
        return tuple(-s * size if d in self._flips else s * size for d, s in enumerate(self._p.stride()))

    @property
    def T(self):
        return self.transpose()

    mT = property(lambda self: self.swapaxes(-1, -2))

    @property
    def flat(self):
        return Flat(self)

    @property
    def real(self):
        if self._dtype.kind != "c":
            return self
        return ndarray(self._p.real, _dtypes._BY_SPEC[f"f{self._dtype.itemsize // 2}"], self._flips, self)

    @real.setter
    def real(self, value):
        self.real[...] = value

    @property
    def imag(self):
        if self._dtype.kind != "c":
            return ndarray(torch.zeros_like(self._p), self._dtype)
        return ndarray(self._p.imag, _dtypes._BY_SPEC[f"f{self._dtype.itemsize // 2}"], self._flips, self)

    @imag.setter
    def imag(self, value):
        self.imag[...] = value

    def __array__(self, dtype=None, copy=None):
        return self if dtype is None else self.astype(dtype)

    def __len__(self):
        if not self._p.dim():
            raise TypeError("len() of unsized object")
        return self._p.shape[0]

    def __iter__(self):
        if not self._p.dim():
            raise TypeError("iteration over a 0-d array")
        if _is_compiling() and traces():
            return iter(captured("numpy.ndarray", "_rows", None, (self,)))
        return iter([self[i] for i in range(len(self))])

    def __bool__(self):
        if self.size > 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
        if self.size == 0:
            raise ValueError("The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty.")
        return bool(self.item())

    def _number(self):
        if self.ndim:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return self.item()

    def __int__(self):
        return int(self._number())

    def __float__(self):
        return float(self._number())

    def __complex__(self):
        return complex(self._number())

    def __index__(self):
        if self.ndim or self._dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return self.item()

    __hash__ = None

    def __repr__(self):
        return _outside_if_needed(_printing().array_repr, self)

    def __str__(self):
        return _outside_if_needed(_printing().array_str, self)

    def __format__(self, spec):
        if self.ndim == 0:
            return format(self[()], spec)
        if spec:
            raise TypeError("unsupported format string passed to numpy.ndarray.__format__")
        return str(self)

    def __contains__(self, value):
        return bool((self == value).any())

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        return array, (self.tolist(), self._dtype.name) if self.size else (self.tolist(), self._dtype.name)

    # Elements

    def __getitem__(self, index):
        if _is_compiling():
            return captured("numpy.ndarray", "__getitem__", ndarray._get, (self, index), shown="getitem")
        return self._get(index)

    def __setitem__(self, index, value):
        if _is_compiling():
            return captured("numpy.ndarray", "__setitem__", ndarray._set, (self, index, value), shown="__setitem__")
        return self._set(index, value)

    def _get(self, index):
        # One row or element, which most loops ask for.
        if type(index) is int and not self._flips and self._p.dim():
            t = self._p[_within(index, self._p.shape[0], 0)]
            return ndarray(t, self._dtype, (), self) if t.dim() else make(t.item(), self._dtype)
        items, is_advanced = _index_items(self, index)
        if is_advanced:
            return ndarray(self._t[tuple(items)], self._dtype)
        view = self._view(items)
        if view._p.dim() == 0 and not any(item is Ellipsis for item in (index if isinstance(index, tuple) else (index,))):
            return make(view._p.item(), self._dtype)
        return view

    def _set(self, index, value):
        items, is_advanced = _index_items(self, index)
        if type(value) is int:
            t = tensor_of((value, None, "i"), self._dtype)
        else:
            value = asarray(value)
            t = cast(value._t, value._dtype, self._dtype)
        if not is_advanced:
            self._view(items)._assign(t)
        elif self._flips:
            whole = self._t
            _put(whole, items, t)
            self._write(whole)
        else:
            _put(self._p, items, t)

    def _assign(self, t):
        try:
            self._write(t)
        except RuntimeError:
            raise ValueError(f"could not broadcast input array from shape {_shape(t)} into shape {_shape(self._p)}") from None

    def _view(self, items):
        """A view by numbers, slices, new axes and an ellipsis."""
        taken = sum(item is not None and item is not Ellipsis for item in items)
        found, flips, axis, out = [], [], 0, 0
        for item in items:
            if item is Ellipsis:
                for _ in range(self._p.dim() - taken):
                    flips += [out] if axis in self._flips else []
                    found.append(slice(None))
                    axis, out = axis + 1, out + 1
            elif item is None:
                found.append(None)
                out += 1
            else:
                size, flipped = self._p.shape[axis], axis in self._flips
                if type(item) is int:
                    item = _within(item, size, axis)
                    found.append(size - 1 - item if flipped else item)
                else:
                    part, flip = _forwards(item, size, flipped)
                    found.append(part)
                    flips += [out] if flip else []
                    out += 1
                axis += 1
        for axis in range(axis, self._p.dim()):
            flips += [out] if axis in self._flips else []
            out += 1
        return ndarray(self._p[tuple(found)], self._dtype, tuple(flips), self)

    def item(self, *index):
        if index:
            return (self.reshape(-1)[index[0]] if len(index) == 1 and type(index[0]) is int else self[index]).item()
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._p.item()

    def tolist(self):
        return self._t.tolist()

    def fill(self, value):
        self[...] = value

    # Copies and views

    def copy(self, order="C"):
        return ndarray(self._t.clone(memory_format=torch.contiguous_format), self._dtype)

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        dtype = resolve(dtype)
        if not _dtypes.can_cast(self._dtype, dtype, casting):
            raise TypeError(f"Cannot cast array data from {self._dtype!r} to {dtype!r} according to the rule '{casting}'")
        if dtype is self._dtype:
            return self.copy() if copy else self
        return ndarray(cast(self._t, self._dtype, dtype), dtype)

    def view(self, dtype=None, type=None):
        if dtype is None or dtype is ndarray:
            return ndarray(self._p, self._dtype, self._flips, self)
        dtype = resolve(dtype)
        if dtype in WIDE_UNSIGNED or self._dtype in WIDE_UNSIGNED or UINT64 in (dtype, self._dtype):
            raise unavailable(f"a view of {self._dtype} as {dtype}")
        return ndarray(self._p.view(dtype._torch), dtype, self._flips, self)

    def reshape(self, *shape, order="C", copy=None):
        shape = _sizes(shape)
        if order == "F":
            return self.transpose().reshape(shape[::-1]).transpose()
        known = 1
        for size in shape:
            known *= 1 if size == -1 else size
        if shape.count(-1) > 1:
            raise ValueError("can only specify one unknown dimension")
        if -1 in shape and (not known or self.size % known) or -1 not in shape and known != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {_text(shape)}")
        return ndarray(self._t.reshape(shape), self._dtype, (), self)

    def ravel(self, order="C"):
        return self.reshape(-1, order="C" if order in "KA" else order)

    def flatten(self, order="C"):
        return self.ravel(order).copy()

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        n = self.ndim
        order = tuple(range(n))[::-1] if axes is None or axes == () and n else tuple(_axis(a, n) for a in axes)
        if sorted(order) != list(range(n)):
            raise ValueError("axes don't match array" if len(order) != n else "repeated axis in transpose")
        return ndarray(self._p.permute(order), self._dtype, tuple(i for i, a in enumerate(order) if a in self._flips), self)

    def swapaxes(self, axis1, axis2):
        order = list(range(self.ndim))
        a, b = _axis(axis1, self.ndim), _axis(axis2, self.ndim)
        order[a], order[b] = b, a
        return self.transpose(order)

    def squeeze(self, axis=None):
        axes = [axis] if isinstance(axis, int) else axis
        axes = {d for d, s in enumerate(self.shape) if s == 1} if axes is None else {_axis(a, self.ndim) for a in axes}
        if any(self.shape[a] != 1 for a in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        return self[tuple(0 if d in axes else slice(None) for d in range(self.ndim)) + (Ellipsis,)]

    def resize(self, *shape, refcheck=True):
        shape = _sizes(shape)
        flat = self._t.reshape(-1)
        made = torch.zeros(shape, dtype=flat.dtype)
        count = min(made.numel(), flat.numel())
        made.view(-1)[:count] = flat[:count]
        self._p, self._flips = made, ()

    def tobytes(self, order="C"):
        from numpy._io import bytes_of

        return bytes_of(self)

    def setflags(self, write=None, align=None, uic=None):
        if write is False:
            raise unavailable("an array that cannot be written to", "a copy")

    def sort(self, axis=-1, kind=None, order=None):
        from numpy._functions import sort

        self[...] = sort(self, axis)

    def partition(self, kth, axis=-1):
        self.sort(axis)


class Flags:
    """How an array lies in memory."""

    def __init__(self, a):
        p = a._p
        self.c_contiguous = not a._flips and p.is_contiguous()
        self.f_contiguous = not a._flips and p.permute(tuple(range(p.dim()))[::-1]).is_contiguous()
        self.owndata, self.writeable, self.aligned = a._base is None, True, True

    def __getitem__(self, name):
        return getattr(self, name.lower())


class Flat:
    """An array's elements in order."""

    def __init__(self, a):
        self._a = a

    def __iter__(self):
        return iter(self._a.reshape(-1))

    def __len__(self):
        return self._a.size

    def __getitem__(self, index):
        return self._a.reshape(-1)[index]

    def __setitem__(self, index, value):
        flat = self._a.flatten()
        flat[index] = value
        self._a[...] = flat.reshape(self._a.shape)


def _printing():
    from numpy import _printing

    return _printing


def _outside_if_needed(function, *args):
    return outside(function, *args) if _is_compiling() else function(*args)


def _attribute_outside(a, read):
    """What Dynamo reads of no array in a graph."""
    return outside(read) if _is_compiling() else read()


# Indices


def _within(index, size, axis):
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    return index + size if index < 0 else index


def _forwards(part, size, flipped):
    """A slice that runs forwards in memory, and whether the array runs through it backwards."""
    if not flipped and part.step in (None, 1):
        return slice(*(None if p is None else operator.index(p) for p in (part.start, part.stop))), False
    positions = range(size)[part]
    if flipped:
        positions = range(size - 1, -1, -1)[part]
    if not positions:
        return slice(0, 0), False
    if positions.step > 0:
        return slice(positions[0], positions[-1] + 1, positions.step), False
    return slice(positions[-1], positions[0] + 1, -positions.step), True


def _index_items(a, index):
    """An index as numbers, slices, new axes, an ellipsis and tensors; whether there are tensors."""
    items, found, is_advanced, taken = index if isinstance(index, tuple) else (index,), [], False, 0
    for item in items:
        if item is None or item is Ellipsis:
            found.append(item)
            continue
        if isinstance(item, (bool, generic)) and not isinstance(item, int) or isinstance(item, bool):
            if isinstance(item, bool) or item._dtype is BOOL:
                found.append(torch.tensor(bool(item)))
                is_advanced = True
                continue
        taken += 1
        if isinstance(item, slice):
            found.append(item)
        elif type(item) is int:
            found.append(item)
        elif isinstance(item, (list, ndarray, torch.Tensor, tuple, range)):
            item = asarray(item)
            if item._dtype is BOOL:
                _check_mask(a, item, taken - 1)
                found += item._t.nonzero(as_tuple=True)
                is_advanced, taken = True, taken + item.ndim - 1
            elif item._dtype.kind in "iu" or not item.size:
                if item.ndim == 0:
                    found.append(item.item())
                    continue
                t = item._t.to(torch.int64)
                _check_positions(a, t, taken - 1)
                found.append(t)
                is_advanced = True
            else:
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
        elif hasattr(item, "__index__"):
            found.append(operator.index(item))
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
            )
    if taken > a._p.dim():
        raise IndexError(f"too many indices for array: array is {a._p.dim()}-dimensional, but {taken} were indexed")
    if sum(item is Ellipsis for item in found) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if is_advanced:
        found = _advanced(a, found)
    return found, is_advanced


def _advanced(a, items):
    """Among tensors a number is one, too, and a slice that runs backwards is one of positions, which is an axis of its own."""
    axis, found = 0, []
    axes = a._p.dim() - sum(item is not None and item is not Ellipsis and not _is_truth(item) for item in items)
    for item in items:
        if type(item) is int:
            found.append(torch.tensor([_within(item, a._p.shape[axis], axis)]))
        elif isinstance(item, slice) and item.step is not None and operator.index(item.step) < 0:
            raise unavailable("an index of arrays beside a slice that runs backwards", "two indices, one after the other")
        else:
            found.append(item)
        axis += axes if item is Ellipsis else 0 if item is None or _is_truth(item) else 1
    return found


def _is_truth(item):
    return isinstance(item, torch.Tensor) and item.dim() == 0


def _check_mask(a, mask, axis):
    for d, size in enumerate(mask.shape):
        if axis + d < a.ndim and size != a.shape[axis + d]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + d}; size of axis is {a.shape[axis + d]} but size of "
                f"corresponding boolean axis is {size}"
            )
    if mask.ndim + axis > a.ndim:
        raise IndexError(f"too many indices for array: array is {a.ndim}-dimensional, but {axis + mask.ndim} were indexed")


def _check_positions(a, t, axis):
    if axis < a.ndim and t.numel():
        size = a.shape[axis]
        low, high = t.min().item(), t.max().item()
        if low < -size or high >= size:
            raise IndexError(f"index {high if high >= size else low} is out of bounds for axis {axis} with size {size}")


def _put(t, items, value):
    try:
        t[tuple(items)] = value
    except RuntimeError:
        shape = _shape(t[tuple(items)])
        raise ValueError(f"shape mismatch: value array of shape {_shape(value)} could not be broadcast to indexing result of shape {shape}") from None


def _shape(t):
    return _text(t.shape)


def _text(sizes):
    """Sizes as numpy writes them in messages."""
    return f"({','.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _axis(axis, ndim):
    """An axis counted from the front."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise AxisError(axis, ndim)
    return axis + ndim if axis < 0 else axis


class AxisError(ValueError, IndexError):
    """An axis that an array does not have."""

    def __init__(self, axis, ndim=None, msg_prefix=None):
        super().__init__(f"axis {axis} is out of bounds for array of dimension {ndim}" if ndim is not None else axis)
        self.axis, self.ndim = axis, ndim


def _sizes(shape):
    """Sizes that are given one by one, or together."""
    if len(shape) == 1 and not isinstance(shape[0], (int, generic)):
        shape = shape[0] if isinstance(shape[0], (tuple, list)) else tuple(asarray(shape[0]).tolist())
    return tuple(operator.index(size) for size in shape)


# Between tensors, numbers and arrays


def cast(t, dtype, to):
    """A tensor of one dtype's elements as one of another's."""
    if dtype is to:
        return t
    if dtype.kind == "c" and to.kind not in "cb":
        _warn("Casting complex values to real discards the imaginary part")
        t = t.real
    return wrapped(t.to(to._torch), to)


def _warn(text):
    import warnings

    warnings.warn(text, ComplexWarning, stacklevel=3)


class ComplexWarning(RuntimeWarning):
    """A complex number loses its imaginary part."""


def wrapped(t, dtype):
    """Elements of an unsigned dtype that is held in a wider one."""
    mask = WIDE_UNSIGNED.get(dtype)
    if mask is not None:
        return t & mask
    if dtype is UINT64 and t.numel() and bool((t < 0).any()):
        raise unavailable("uint64 of 2**63 or more")
    return t


def box(t, dtype):
    """What functions return: an array, or a scalar where there are no axes."""
    return ndarray(t, dtype) if t.dim() else make(t.item(), dtype)


def operand(x):
    """A tensor or number, its dtype, and, of a number of Python's, which has none, its kind."""
    kind = type(x)
    if kind is ndarray:
        return x._t, x._dtype, None
    if kind is float:
        return x, None, "f"
    if kind is int:
        return x, None, "i"
    if kind is bool:
        return x, BOOL, None
    if kind is complex:
        return x, None, "c"
    if isinstance(x, generic):
        return x._value, x._dtype, None
    a = asarray(x)
    return a._t, a._dtype, None


def tensor_of(found, dtype):
    """An operand as a tensor of a dtype."""
    value, own, _ = found
    if isinstance(value, torch.Tensor):
        return value if own is dtype else cast(value, own, dtype)
    if own is None and dtype.kind in "iu":
        low, high = _dtypes.bounds(dtype)
        if not low <= value <= high:
            raise OverflowError(f"Python integer {value} out of bounds for {dtype.name}")
    if dtype.kind == "b":
        value = bool(value)
    elif dtype.kind in "iu":
        value = int(value)
        if dtype is UINT64 and value >= 2**63:
            raise unavailable("uint64 of 2**63 or more")
    elif dtype.kind == "f" and isinstance(value, int):
        value = float(value)
    return torch.tensor(value, dtype=dtype._torch)


def of_tensor(t, force=False):
    """`Tensor.numpy()`: an array over a tensor's memory."""
    if _is_compiling() and traces() and t.dtype in OF_TORCH:
        # The array is a view, as far as the graph goes.
        t = t.detach().cpu().resolve_conj().resolve_neg() if force else t
        t = t if type(t) is _Plain else t.as_subclass(_Plain)
        return ndarray(t.view_as(t), OF_TORCH[t.dtype])
    if _native_fake.is_of_trace(t):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    if force:
        t = t.detach().cpu().resolve_conj().resolve_neg()
    elif t.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if t.is_cuda:
        raise TypeError(
            f"can't convert {t.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if t.is_meta:
        raise TypeError("can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
    if _native_transforms._level_of(t) is not None:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
    if t.is_conj() or t.is_neg():
        which, instead = ("conjugate", "resolve_conj") if t.is_conj() else ("negative", "resolve_neg")
        raise RuntimeError(f"Can't call numpy() on Tensor that has {which} bit set. Use tensor.{instead}().numpy() instead.")
    dtype = OF_TORCH.get(t.dtype)
    if dtype is None:
        names = {"bfloat16": "BFloat16", "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2"}
        raise TypeError(f"Got unsupported ScalarType {names.get(str(t.dtype)[6:], str(t.dtype)[6:])}")
    return ndarray(t.as_subclass(_Plain).detach(), dtype)


def to_tensor(a):
    """`torch.from_numpy`: a tensor over an array's memory."""
    if not isinstance(a, ndarray):
        kind = type(a)
        name = f"numpy.{kind.__name__}" if isinstance(a, generic) else kind.__name__
        raise TypeError(f"expected np.ndarray (got {name})")
    t = a.__torch_array__()
    if not (_is_compiling() and traces()):
        return t.detach()
    _native_compile._become_inputs(t)
    return t


def _torch_array(self):
    """The tensor that an array is held in."""
    if self._flips:
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently supported. "
            "(You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if self._dtype in WIDE_UNSIGNED or self._dtype is UINT64:
        raise unavailable(f"a tensor of torch.{self._dtype}", "a.astype(np.int64)")
    return self._p


ndarray.__torch_array__ = ndarray.__torch_input__ = _torch_array


def _nested(data, depth=0):
    """The numbers and arrays of nested sequences with their shape."""
    if isinstance(data, (list, tuple)) or hasattr(data, "__len__") and hasattr(data, "__getitem__") and not hasattr(data, "__array__"):
        if isinstance(data, (str, bytes, dict)):
            raise unavailable(f"an array of {type(data).__name__}", "a list")
        if depth > 64:
            raise ValueError("maximum supported dimension for an ndarray is 64")
        parts = [_nested(part, depth + 1) for part in data]
        shapes = {shape for _, shape in parts}
        if len(shapes) > 1:
            prefix, sizes = depth + 1, sorted(shapes, key=len)
            common = []
            for column in zip(*sizes):
                if len(set(column)) > 1:
                    break
                common.append(column[0])
            raise ValueError(
                "setting an array element with a sequence. The requested array has an inhomogeneous shape after "
                f"{prefix + len(common)} dimensions. The detected shape was {(len(parts), *common)} + inhomogeneous part."
            )
        flat = []
        for values, _ in parts:
            flat += values
        return flat, (len(parts), *(shapes.pop() if shapes else ()))
    if isinstance(data, (ndarray, torch.Tensor)) or hasattr(data, "__array__") and not isinstance(data, generic):
        a = asarray(data)
        return [a], a.shape
    if not isinstance(data, (bool, int, float, complex, generic)):
        if data is None or isinstance(data, (str, bytes, dict, set)) or not hasattr(data, "__float__"):
            raise unavailable(f"an array of {type(data).__name__}", "a list")
        data = float(data)
    return [data], ()


def _dtype_of(x):
    kind = type(x)
    if kind is bool:
        return BOOL
    if kind is int:
        if not -(2**63) <= x < 2**63:
            if x < 2**64:
                return UINT64
            raise unavailable("an array of integers beyond 64 bits", "floats")
        return INT64
    if kind is float:
        return FLOAT64
    return _dtypes.COMPLEX128 if kind is complex else x._dtype


def _array(data, dtype=None, copy=True, ndmin=0):
    dtype = None if dtype is None else resolve(dtype)
    if isinstance(data, (range, map, filter)) or type(data).__name__ in ("dict_keys", "dict_values"):
        if not isinstance(data, range):
            raise unavailable(f"an array of {type(data).__name__}", "np.array(list(...))")
        data = list(data)
    if isinstance(data, torch.Tensor):
        data = of_tensor(data)
    elif not isinstance(data, (ndarray, generic)) and hasattr(data, "__array__"):
        data = data.__array__()
    if isinstance(data, ndarray):
        to = data._dtype if dtype is None else dtype
        if copy or to is not data._dtype:
            a = ndarray(cast(data._t, data._dtype, to), to)
            a = a.copy() if a._p.untyped_storage().data_ptr() == data._p.untyped_storage().data_ptr() else a
        else:
            a = data
    else:
        flat, shape = _nested(data)
        found = dtype
        if found is None:
            for own in {_dtype_of(x) for x in flat}:
                found = own if found is None else _dtypes.promote(found, own)
            found = FLOAT64 if found is None else found
        if any(isinstance(x, ndarray) for x in flat):
            parts = [cast(a._t, a._dtype, found) if isinstance(a, ndarray) else torch.tensor(_value(a, found), dtype=found._torch) for a in flat]
            t = torch.stack(parts).reshape(shape)
        else:
            t = torch.tensor([_value(x, found) for x in flat], dtype=found._torch).reshape(shape)
        a = ndarray(wrapped(t, found), found)
    return a.reshape((1,) * (ndmin - a.ndim) + a.shape) if a.ndim < ndmin else a


def _value(x, dtype):
    """A number as one that a tensor of a dtype is made of."""
    if type(x) is float and dtype.kind == "f":
        return x
    value = x._value if isinstance(x, generic) else x
    if dtype.kind in "iu":
        if isinstance(value, complex):
            raise TypeError("int() argument must be a string, a bytes-like object or a real number, not 'complex'")
        value = int(value)
        low, high = _dtypes.bounds(dtype)
        if not low <= value <= high:
            raise OverflowError(f"Python integer {value} out of bounds for {dtype.name}")
        if value >= 2**63:
            raise unavailable("uint64 of 2**63 or more")
        return value
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind == "f":
        return float(value.real if isinstance(value, complex) else value)
    return complex(value)


@public
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    """An array of nested sequences, of another array, or of a tensor."""
    return _array(object, dtype, copy is True, ndmin)


def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """The same; an array of that dtype is itself."""
    if type(a) is ndarray and dtype is None and not copy:
        return a
    if _is_compiling():
        return captured("numpy", "asarray", _array, (a, dtype))
    return _array(a, dtype, copy is True)


# Operators


def _binary(name, of, symbol):
    def method(self, other):
        if not _is_compiling():
            return compute(self, other)
        operands = (self, other) if of == "operator_of" else (other, self)
        if isinstance(other, torch.Tensor) and traces():
            return beside_tensor(symbol, *operands)
        return captured("numpy", name, lambda *_: compute(self, other), operands, shown=shown_operator(symbol))

    def compute(self, other):
        from numpy import _ufuncs

        return getattr(_ufuncs, of)(name)(self, other)

    return method


def _in_place(name, symbol):
    def method(self, other):
        if _is_compiling():
            return captured("numpy.ndarray", f"in_place {name}", compute, (self, other), shown=shown_operator(symbol))
        return compute(self, other)

    def compute(self, other):
        from numpy import _ufuncs

        if name == "matmul":
            self[...] = _ufuncs.matmul(self, other)
            return self
        return getattr(_ufuncs, name)(self, other, out=self)

    return method


def _unary(name):
    def method(self):
        from numpy import _ufuncs

        return getattr(_ufuncs, name)(self)

    return method


for _name, _ufunc in {**OPERATORS, "matmul": "matmul"}.items():
    setattr(ndarray, f"__{_name}__", _binary(_ufunc, "operator_of", f"__{_name}__"))
    setattr(ndarray, f"__r{_name}__", _binary(_ufunc, "reflected_of", f"__{_name}__"))
    setattr(ndarray, f"__i{_name}__", _in_place(_ufunc, f"__i{_name}__"))
for _name, _ufunc in COMPARISONS.items():
    setattr(ndarray, f"__{_name}__", _binary(_ufunc, "operator_of", f"__{_name}__"))
for _name, _ufunc in UNARY.items():
    setattr(ndarray, f"__{_name}__", _unary(_ufunc))


def _divmod(self, other):
    return self // other, self % other


ndarray.__divmod__ = _divmod

# Methods that are functions of numpy's, by the file they are in.
_METHODS = {
    "_reductions": "sum prod mean std var max min argmax argmin all any cumsum cumprod ptp",
    "_functions": "clip round dot argsort nonzero repeat take diagonal trace searchsorted conj conjugate argpartition choose compress",
}
SHARED_WITH_SCALARS = frozenset(
    " ".join(_METHODS.values()).split()
    + "astype copy fill flatten ravel reshape squeeze swapaxes tobytes transpose view flat flags sort".split()
)


def _method(part, name):
    def method(self, *args, **kwargs):
        module = __import__(f"numpy.{part}", fromlist=[name])
        return getattr(module, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


for _part, _names in _METHODS.items():
    for _name in _names.split():
        setattr(ndarray, _name, _method(_part, _name))

# What reads an array's values ends a graph, too.
for _name in "item tolist copy astype reshape ravel flatten transpose swapaxes squeeze fill tobytes sort view __bool__ __contains__".split():
    setattr(ndarray, _name, public(ndarray.__dict__[_name], "numpy.ndarray"))
