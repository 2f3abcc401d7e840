"""`torch.Tensor`: what of it is written in Python, over the native `TensorBase` with a method for every operator."""

import functools
import operator
import sys
from collections import OrderedDict

from torch import _native, _native_compile, _native_fake, _native_subclass, _native_torch_function
from torch._native import TensorBase
from torch.overrides import asks, get_default_nowrap_functions, overridable


def outside_of_graphs(end):
    """Of a method that Dynamo does not trace: `end` ends a graph that is captured before the call, which has nothing of it."""

    def outside(method):
        @functools.wraps(method)
        def call(*args, **kwargs):
            if not _native_compile._is_compiling():
                return method(*args, **kwargs)
            end()
            with _native_compile._skipped():
                return method(*args, **kwargs)

        return call

    return outside


def _size(at, size):
    """A number that is no plain integer, as one of several sizes."""
    is_tensor = isinstance(size, TensorBase)
    if type(size).__name__ == "SymInt":
        return size
    if not hasattr(size, "__index__") or is_tensor and (size.dim() > 0 or size.is_floating_point() or size.is_complex()):
        raise TypeError(f"torch.Size() takes an iterable of 'int' (item {at} is '{type(size).__name__}')")
    size = operator.index(size)
    if not _is_size(size):
        raise ValueError("Overflow when unpacking long long")
    return size


def _is_size(size):
    return type(size) is int and -(2**63) <= size < 2**63


class Size(tuple):
    """The sizes of a tensor."""

    __module__ = "torch"

    def __new__(cls, sizes=(), /):
        return tuple.__new__(cls, [size if _is_size(size) else _size(at, size) for at, size in enumerate(tuple(sizes))])

    def numel(self):
        n = 1
        for size in self:
            n *= size
        return n

    def __repr__(self):
        return f"torch.Size([{', '.join(map(repr, self))}])"

    __str__ = __repr__

    # Whole shapes are compared at once: what is learned of symbolic sizes is that they are all equal, or that not all are.
    def __eq__(self, other):
        equal = _native._all_equal(self, other)
        return tuple.__eq__(self, other) if equal is None else equal

    def __ne__(self, other):
        equal = _native._all_equal(self, other)
        return tuple.__ne__(self, other) if equal is None else not equal

    __hash__ = tuple.__hash__

    def __add__(self, other):
        return Size(tuple.__add__(self, other))

    def __mul__(self, n):
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __getitem__(self, index):
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __reduce__(self):
        return Size, (tuple(self),)


_native._set_size_class(Size)


class _TensorMeta(type):
    """The class of classes of tensors. A graph that is captured can hold a call of one."""


# Warnings that were given: each comes once.
_given = set()


def warn_natively(message, stacklevel):
    """Warns of what PyTorch's own library warns of, and not its Python: no graph ends there."""
    import warnings

    getattr(warnings.warn, "__wrapped__", warnings.warn)(message, stacklevel=stacklevel + 1)


def _warn_of_dimensions(name, dim):
    """Warns where a transposition that is meant for matrices is asked of something else."""
    if dim == 2 or (dim != 0 and name != "T"):
        return
    if dim == 0:
        advice = "Consider using x.conj()." if name in ("H", "mH") else "This function is the identity in these cases."
        message = f"Tensor.{name} is deprecated on 0-D tensors. {advice}"
    else:
        message = (
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a "
            "future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse "
            "the dimensions of a tensor."
        )
    if message not in _given:
        _given.add(message)
        warn_natively(message, stacklevel=3)


_native_subclass.watch_calls(_TensorMeta)


class Tensor(TensorBase, metaclass=_TensorMeta):
    """A multi-dimensional array of one dtype."""

    __module__ = "torch"

    @asks
    def __repr__(self, *, tensor_contents=None):
        forward_ad = sys.modules.get("torch.autograd.forward_ad")
        text = forward_ad.printed(self) if forward_ad is not None and forward_ad.in_level() else None
        if text is not None:
            return text
        is_plain = type(self) is Tensor or type(self) is _Parameter()
        return _native._tensor_repr(self, "tensor(" if is_plain else f"{type(self).__name__}(")

    def __str__(self):
        return self.__repr__()

    @asks
    def __format__(self, spec):
        if self.dim() == 0 and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __getattr__(self, name):
        from torch._absent import tensor_attribute_error

        raise tensor_attribute_error(type(self), name)

    def __hash__(self):
        return TensorBase.__hash__(self)

    def __eq__(self, other):
        return TensorBase.__eq__(self, other)

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        # Captured code takes the rows one by one.
        return iter([self[i] for i in range(len(self))] if _native_compile._is_compiling() else self.unbind(0))

    @asks
    def __reversed__(self):
        return self if self.dim() == 0 else self.flip(0)

    @asks
    def __contains__(self, element):
        if isinstance(element, (Tensor, bool, int, float, complex)):
            return bool((element == self).any().item())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )

    @asks
    def __complex__(self):
        return complex(self.item())

    @asks
    def __reduce_ex__(self, proto):
        from torch._memories import reduced

        return reduced(self)

    @asks
    @outside_of_graphs(lambda: _native_compile._graph_break("deepcopy"))
    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
                "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                "see https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        if type(self) is not Tensor and type(self.new_empty([])) is not type(self):
            raise RuntimeError(
                "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that implement "
                "new_empty() and for which that function returns another instance of the same subclass. You should either properly "
                "implement new_empty() for your subclass or override __deepcopy__() if it is intended behavior for new_empty() to "
                "return an instance of a different type."
            )
        copied = self._deepcopied_data(memo)
        if type(self) is not Tensor:
            copied = _native._make_subclass(type(self), copied)
        copied.requires_grad_(self.requires_grad)
        if self.grad is not None:
            copied.grad = self.grad.__deepcopy__(memo)
        if self.__dict__:
            from copy import deepcopy

            copied.__dict__ = deepcopy(self.__dict__, memo)
        memo[id(self)] = copied
        return copied

    def _deepcopied_data(self, memo):
        """A copy of its values. Views of one memory become views of one copy, whose geometry is theirs."""
        if type(self) is not Tensor or self.device.type == "meta" or _native_compile._is_compiling() or _native_fake.mode_of(self):
            return self.detach().clone()
        from torch import _storage

        # Copies are remembered where no object's id can stand.
        memories = memo.setdefault("torch", {})
        key = _storage.place(self)
        if key not in memories:
            memories[key] = _storage.elements(self).clone()
        return _storage.over(memories[key], self.storage_offset(), tuple(self.shape), self.stride())

    @outside_of_graphs(lambda: _native_compile._graph_break("non_tensor", "function", "getitem"))
    def __copy__(self):
        return self.detach().requires_grad_(self.requires_grad)

    def __dir__(self):
        return sorted({*object.__dir__(self)} - {"__cuda_array_interface__"})

    @asks
    def __array__(self, dtype=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    @asks
    def numpy(self, *, force=False):
        from numpy._array import of_tensor
        from numpy._capture import traces

        if _native_compile._is_compiling() and not traces():
            _native_compile._graph_break("numpy", "Tensor.numpy() with trace_numpy=False")
            with _native_compile._suspended():
                return of_tensor(self, force)
        return of_tensor(self, force)

    # Autograd

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Computes the gradients of the leaves this tensor was made of."""
        from torch.autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook):
        """Calls `hook` with the gradient of this tensor when it is computed."""
        from torch.utils.hooks import RemovableHandle

        handle = RemovableHandle(OrderedDict())
        _native._register_hook(self, handle.id, hook)
        return _with_remove(handle, self)

    def register_post_accumulate_grad_hook(self, hook):
        """Calls `hook` with this leaf after a gradient was added to its `.grad`."""
        from torch.utils.hooks import RemovableHandle

        handle = RemovableHandle(OrderedDict())
        _native._register_post_accumulate_grad_hook(self, handle.id, hook)
        return _with_remove(handle, self)

    # Conversions

    @overridable
    def to(self, *args, **kwargs):
        """The tensor on another device or of another dtype; itself where it is already."""
        if args and (args[0] is None or isinstance(args[0], (str, int, _native.device))):
            given = dict(zip(("device", "dtype", "non_blocking", "copy"), args), **kwargs)
            device, dtype = given.pop("device"), given.pop("dtype", None)
            if isinstance(device, str):
                device = _native.device(device)
            if device is not None and dtype is not None:
                return TensorBase.to(self, device, dtype, **given)
            if device is not None:
                return TensorBase.to(self, device=device, **given)
            if dtype is not None:
                return TensorBase.to(self, dtype, **given)
            changes = given.get("copy") or given.get("memory_format") is not None
            return TensorBase.to(self, **given) if changes else self
        return TensorBase.to(self, *args, **kwargs)

    @overridable
    def float(self, memory_format=None):
        return self._cast("float32", memory_format)

    @overridable
    def double(self, memory_format=None):
        return self._cast("float64", memory_format)

    @overridable
    def half(self, memory_format=None):
        return self._cast("float16", memory_format)

    @overridable
    def bfloat16(self, memory_format=None):
        return self._cast("bfloat16", memory_format)

    @overridable
    def long(self, memory_format=None):
        return self._cast("int64", memory_format)

    @overridable
    def int(self, memory_format=None):
        return self._cast("int32", memory_format)

    @overridable
    def short(self, memory_format=None):
        return self._cast("int16", memory_format)

    @overridable
    def char(self, memory_format=None):
        return self._cast("int8", memory_format)

    @overridable
    def byte(self, memory_format=None):
        return self._cast("uint8", memory_format)

    @overridable
    def bool(self, memory_format=None):
        return self._cast("bool", memory_format)

    @overridable
    def cfloat(self, memory_format=None):
        return self._cast("complex64", memory_format)

    @overridable
    def cdouble(self, memory_format=None):
        return self._cast("complex128", memory_format)

    def _cast(self, name, memory_format):
        if memory_format is None:
            return self.to(_native._dtype(name))
        return self.to(_native._dtype(name), memory_format=memory_format)

    @overridable
    def cpu(self, memory_format=None):
        return self.to("cpu")

    @overridable
    def cuda(self, device=None, non_blocking=False, memory_format=None):
        return self.to("cuda" if device is None else device)

    @overridable
    def type(self, dtype=None, non_blocking=False):
        """The name of the type, or the tensor as another type."""
        if dtype is None:
            names = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long"}
            names.update(int32="Int", int16="Short", int8="Char", uint8="Byte", bool="Bool")
            names.update(complex64="ComplexFloat", complex128="ComplexDouble")
            return f"torch.{names[str(self.dtype)[6:]]}Tensor"
        if isinstance(getattr(dtype, "dtype", None), _native.dtype):
            dtype = dtype.dtype
        if isinstance(dtype, str):
            short = dtype.removeprefix("torch.").removesuffix("Tensor").lower()
            name, dtype = dtype, _native._dtype({"byte": "uint8", "char": "int8"}.get(short, short))
            if dtype is None:
                raise ValueError(f"invalid type: '{name}'")
        return self.to(dtype)

    @overridable
    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
        return _native.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)

    @overridable
    def new(self, *args):
        if len(args) == 1 and isinstance(args[0], Size):
            return self.new_empty(args[0])
        return self.new_empty(args or (0,)) if all(isinstance(a, int) for a in args) else self.new_tensor(args[0])

    # Properties that are operators

    @property
    def T(self):
        _warn_of_dimensions("T", self.dim())
        return _native._ops_packet("aten", "numpy_T")(self)

    @property
    def mT(self):
        _warn_of_dimensions("mT", self.dim())
        return _native._ops_packet("aten", "mT")(self)

    @property
    def H(self):
        _warn_of_dimensions("H", self.dim())
        return _native._ops_packet("aten", "matrix_H")(self)

    @property
    def mH(self):
        _warn_of_dimensions("mH", self.dim())
        return _native._ops_packet("aten", "mH")(self)

    # Elements through a Python function, and another memory

    def apply_(self, callable):
        """Replaces every element by what a function makes of it."""
        import torch

        values = [callable(value) for value in self.reshape(-1).tolist()]
        return self.copy_(torch.tensor(values, dtype=self.dtype).view(self.shape))

    def map_(self, tensor, callable):
        """Replaces every element by what a function makes of it and another tensor's."""
        import torch

        others = tensor.expand(self.shape).reshape(-1).tolist()
        values = [callable(value, other) for value, other in zip(self.reshape(-1).tolist(), others)]
        return self.copy_(torch.tensor(values, dtype=self.dtype).view(self.shape))

    def set_(self, source=None, storage_offset=0, size=None, stride=None):
        """Becomes a view of another tensor's memory."""
        import torch

        _native_compile._graph_break("titled", "Unsupported Tensor.set_() call")
        with _native_compile._suspended():
            if self.requires_grad and not self.is_leaf:
                raise RuntimeError("set_() of a tensor with history is not available in the playground")
            if source is None:
                source = torch.empty(0, dtype=self.dtype)
            source = getattr(source, "_tensor", source).detach()
            if size is not None:
                source = source.as_strided(size, torch.empty(size).stride() if stride is None else stride, storage_offset)
            if source.dtype != self.dtype:
                given, own = str(source.dtype), str(self.dtype)
                raise RuntimeError("Could not set tensor of type " + given + " to a tensor of type " + own)
            self.data = source
            _native._increment_version(self)
        return self

    # What PyTorch writes in Python

    @overridable
    def where(self, condition, other):
        return _native._function("where", "torch.")(condition, self, other)

    @overridable
    def polygamma(self, n):
        return _native._function("polygamma", "torch.")(n, self)

    def get_device(self):
        return -1 if self.device.type == "cpu" else self.device.index or 0

    def dense_dim(self):
        _native_compile._leave_value(self, "int", "dense_dim")
        return self.dim()

    def sparse_dim(self):
        _native_compile._leave_value(self, "int", "sparse_dim")
        return 0

    def is_distributed(self):
        _native_compile._leave_value(self, "bool", "is_distributed")
        return False

    def is_same_size(self, other):
        _native_compile._leave_value(self, "bool", "is_same_size")
        return self.shape == other.shape

    @overridable
    def histogram(self, bins, *, range=None, weight=None, density=False):
        from torch._numeric import histogram

        return histogram(self, bins, range=range, weight=weight, density=density)

    @overridable
    def lu(self, pivot=True, get_infos=False):
        from torch.functional import lu

        return lu(self, pivot, get_infos)

    @overridable
    def stft(self, n_fft, *args, **kwargs):
        from torch.functional import stft

        return stft(self, n_fft, *args, **kwargs)

    @overridable
    def istft(self, n_fft, *args, **kwargs):
        from torch.functional import istft

        return istft(self, n_fft, *args, **kwargs)

    @overridable
    def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
        from torch.functional import norm

        return norm(self, p, dim, keepdim, dtype=dtype)

    @overridable
    def split(self, split_size, dim=0):
        if isinstance(split_size, (list, tuple)):
            return self.split_with_sizes(split_size, dim)
        return TensorBase.split(self, split_size, dim)

    @overridable
    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        from torch.functional import unique

        return unique(self, sorted, return_inverse, return_counts, dim)

    @overridable
    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        from torch.functional import unique_consecutive

        return unique_consecutive(self, return_inverse, return_counts, dim)

    def dim_order(self):
        return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))

    def untyped_storage(self):
        from torch._storage import UntypedStorage

        return UntypedStorage(self)

    def storage(self):
        from torch._storage import TypedStorage

        return TypedStorage(self)

    def share_memory_(self):
        return self

    def is_shared(self):
        _native_compile._leave_value(self, "bool", "is_shared")
        return False

    def pin_memory(self, device=None):
        if self.device.type == "cpu":
            self.new_empty(0, pin_memory=True)
        return self

    def is_pinned(self, device=None):
        _native_compile._leave_value(self, "bool", "is_pinned")
        return False

    def reinforce(self, reward):
        raise RuntimeError("reinforce() was removed.")

    def symeig(self, eigenvectors=False, upper=True):
        from torch._removed import symeig

        return symeig(self)

    def eig(self, eigenvectors=False):
        from torch._removed import eig

        return eig(self)

    def solve(self, other):
        from torch._removed import solve

        return solve(self, other)

    def lstsq(self, other):
        from torch._removed import lstsq

        return lstsq(self, other)

    def cholesky(self, upper=False):
        from torch._removed import cholesky

        return cholesky(self)

    def qr(self, some=True):
        from torch._removed import qr

        return qr(self, some)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What comes of a call on a tensor of a class that does not say so itself: the plain result, as one of the class."""
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        before = _native_torch_function.disable(1)
        try:
            ret = func(*args, **(kwargs or {}))
            return ret if func in get_default_nowrap_functions() else _convert(ret, cls)
        finally:
            _native_torch_function.restore(before)

    # Classes of the script's

    @staticmethod
    def _make_subclass(cls, data, require_grad=False, **options):
        """A tensor of `cls` over the memory of another."""
        return _native._make_subclass(cls, data, require_grad)

    @staticmethod
    def _make_wrapper_subclass(cls, size, *args, **kwargs):
        """A tensor without memory, whose class answers every operator."""
        return _native_subclass.make_wrapper_subclass(cls, size, *args, **kwargs)

    def as_subclass(self, cls):
        """The same tensor as one of `cls`."""
        return _native._as_subclass(self, cls)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        with _native_subclass.DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


def _convert(result, cls):
    """A result, or what a tuple or list of results holds, as tensors of a class."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        result = result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        result = type(result)(_convert(r, cls) for r in result)
    return result


def _warn_of_grad():
    warn_natively(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
        "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
        "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
        "github.com/pytorch/pytorch/pull/30531 for more information.",
        stacklevel=2,
    )


def _Parameter():
    from torch.nn.parameter import Parameter

    return Parameter


def _with_remove(handle, tensor):
    number = handle.id
    handle.remove = lambda: _native._remove_hook(tensor, number)
    return handle


_native._set_tensor_class(Tensor)


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor of a class, or with attributes of its own, as pickles tell it."""
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    if isinstance(state, dict):
        made.__dict__.update(state)
    return made
