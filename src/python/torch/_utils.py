"""Small functions of `torch` itself: types and names, defaults, numbers that may be symbolic, checks."""

import builtins
import enum
import types

import torch
from torch import _C, _native_compile
from torch.overrides import counts_as_one

_deterministic = {"algorithms": False, "warn_only": False, "matmul": "highest", "threads": 1}


def typename(obj):
    """The name of an object's type, with its module."""
    _native_compile._leave("skipped", "typename", "torch", "torch/__init__")
    if isinstance(obj, torch.Tensor):
        return obj.type()
    module = getattr(obj, "__module__", None) or ""
    for attribute in ("__qualname__", "__name__"):
        name = getattr(obj, attribute, None)
        if name is not None:
            break
    else:
        module, name = type(obj).__module__ or "", type(obj).__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


def is_tensor(obj):
    """Whether `obj` is a tensor."""
    return isinstance(obj, torch.Tensor)


def is_floating_point(input):
    """Whether a tensor's dtype is a floating-point one."""
    return input.dtype.is_floating_point


def is_complex(input):
    """Whether a tensor's dtype is a complex one."""
    return input.dtype.is_complex


def is_nonzero(input):
    """Whether a tensor's one element is not zero."""
    return bool(input)


def is_signed(input):
    """Whether a tensor's dtype has negative numbers."""
    return input.dtype.is_signed


def is_conj(input):
    """Whether a tensor's elements are still to be conjugated."""
    return input.is_conj()


def is_inference(input):
    """Whether a tensor was made in inference mode."""
    return input.is_inference()


def numel(input):
    """The number of elements."""
    return input.numel()


@counts_as_one
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """A tensor of `obj`."""
    result = as_tensor(obj, dtype, device)
    result = result.clone() if copy else result
    return result.requires_grad_(requires_grad) if requires_grad else result


def from_numpy(ndarray):
    """A tensor over an array's memory."""
    from numpy._array import to_tensor
    from numpy._capture import traces

    if _native_compile._is_compiling() and not traces():
        _native_compile._graph_break("numpy", "call `torch.from_numpy` with `torch._dynamo.config.trace_numpy=False`")
        with _native_compile._suspended():
            return _native_compile._returned(to_tensor(ndarray))
    return to_tensor(ndarray)


def get_num_threads():
    """What `set_num_threads` was told."""
    _native_compile._leave("non_tensor", "int", "get_num_threads")
    return _deterministic["threads"]


def set_num_threads(threads):
    """There is one thread; the choice is kept for who asks."""
    _native_compile._leave("unknown_builtin", "set_num_threads", "torch")
    if not isinstance(threads, int) or isinstance(threads, bool):
        raise TypeError(f"set_num_threads expects an int, but got {type(threads).__name__}")
    if threads <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _set(threads=threads)


def get_num_interop_threads():
    """One."""
    return 1


def set_num_interop_threads(threads):
    """There is one thread."""


def _set(**settings):
    from torch import _native_compile

    _deterministic.update(settings)
    _native_compile._set_state(_deterministic["algorithms"], _deterministic["warn_only"], _deterministic["threads"])


def is_same_size(input, other):
    """Whether two tensors have one shape."""
    return input.shape == other.shape


@counts_as_one
def as_tensor(data, dtype=None, device=None):
    """A tensor of `data`, which stays itself where it is one already of that dtype and device."""
    if type(data).__name__ == "ndarray" and hasattr(data, "__torch_array__"):
        data = from_numpy(data)
    if not isinstance(data, torch.Tensor):
        return torch.tensor(data, dtype=dtype, device=device)
    return data.to(data.device if device is None else device, data.dtype if dtype is None else dtype)


as_tensor.__module__ = asarray.__module__ = "torch"


def _has_compatible_shallow_copy_type(tensor, other):
    """Whether one tensor can take the other's memory."""
    return tensor.device.type == other.device.type and tensor.layout == other.layout


def is_storage(obj):
    """Whether `obj` is a tensor's storage."""
    _native_compile._leave("non_tensor", "bool", "is_storage")
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


def set_default_dtype(d):
    """The dtype of floating-point tensors that do not say theirs."""
    _C._set_default_dtype(d)


def _warn_of_copy():
    from torch._tensor import warn_natively

    warn_natively(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        stacklevel=2,
    )


def set_default_tensor_type(t):
    """The older form of `set_default_dtype`."""
    names = {"FloatTensor": torch.float32, "DoubleTensor": torch.float64, "HalfTensor": torch.float16}
    name = t if isinstance(t, str) else getattr(t, "__name__", str(t))
    if name.rpartition(".")[2] not in names:
        raise TypeError(f"invalid type object: {name}")
    _C._set_default_dtype(names[name.rpartition(".")[2]])


def set_default_device(device):
    """The device of tensors that do not say theirs."""
    _C._set_default_device(None if device is None else torch.device(device))


def get_default_device():
    """The device of tensors that do not say theirs."""
    return _C._get_default_device()


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Everything here is deterministic; the choice is kept for who asks."""
    _set(algorithms=bool(mode), warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled():
    """What `use_deterministic_algorithms` was told."""
    return _deterministic["algorithms"]


def is_deterministic_algorithms_warn_only_enabled():
    """What `use_deterministic_algorithms` was told."""
    return _deterministic["warn_only"]


def set_deterministic_debug_mode(debug_mode):
    """The older form of `use_deterministic_algorithms`."""
    levels = {"default": 0, "warn": 1, "error": 2}
    level = levels.get(debug_mode, debug_mode)
    _set(algorithms=level > 0, warn_only=level == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2, as `use_deterministic_algorithms` was told."""
    return 0 if not _deterministic["algorithms"] else 1 if _deterministic["warn_only"] else 2


def compiled_with_cxx11_abi():
    """PyTorch's wheels are."""
    return True


def get_device(input):
    """The number of the GPU that a tensor is on; -1 on the CPU."""
    return input.get_device()


def set_float32_matmul_precision(precision):
    """Products are always in full precision here; the choice is kept for who asks."""
    _deterministic["matmul"] = precision


def get_float32_matmul_precision():
    """What `set_float32_matmul_precision` was told."""
    _native_compile._leave("non_tensor", "str", "get_float32_matmul_precision")
    return _deterministic["matmul"]


def _symbolic(value, method):
    found = getattr(value, method, None)
    return None if found is None else found()


def sym_int(a):
    """`int` that keeps symbolic numbers symbolic: rounds towards zero."""
    if isinstance(a, torch.SymInt):
        return a
    if isinstance(a, torch.SymFloat):
        import math

        return math.trunc(a)
    return builtins.int(a)


def sym_float(a):
    """`float` that keeps symbolic numbers symbolic."""
    if isinstance(a, torch.SymFloat):
        return a
    result = _symbolic(a, "__sym_float__")
    return builtins.float(a) if result is None else result


def _function_of_number(name):
    import math

    function = getattr(math, name)

    def made(a):
        return function(a)

    made.__name__ = made.__qualname__ = f"_sym_{name}"
    made.__module__ = "torch"
    return made


_FUNCTIONS_OF_NUMBERS = "sqrt cos cosh sin sinh tan tanh asin acos atan log2"
for _name in _FUNCTIONS_OF_NUMBERS.split():
    globals()[f"_sym_{_name}"] = _function_of_number(_name)
del _name
sym_sqrt = globals()["_sym_sqrt"]


def sym_not(a):
    """`not` that keeps symbolic booleans symbolic."""
    result = _symbolic(a, "__sym_not__")
    return not a if result is None else result


def sym_max(a, b):
    """`max` that keeps symbolic numbers symbolic; an integer and a float give a float."""
    if hasattr(a, "__sym_max__"):
        return a.__sym_max__(b)
    if hasattr(b, "__sym_max__"):
        return b.__sym_max__(a)
    result = builtins.max(a, b)
    return builtins.float(result) if isinstance(a, float) or isinstance(b, float) else result


def sym_min(a, b):
    """`min` that keeps symbolic numbers symbolic; an integer and a float give a float."""
    if hasattr(a, "__sym_min__"):
        return a.__sym_min__(b)
    if hasattr(b, "__sym_min__"):
        return b.__sym_min__(a)
    result = builtins.min(a, b)
    return builtins.float(result) if isinstance(a, float) or isinstance(b, float) else result


def sym_ite(b, t, f):
    """`t if b else f` that keeps symbolic numbers symbolic."""
    return b.__sym_ite__(t, f) if hasattr(b, "__sym_ite__") else (t if b else f)


def sym_sum(args):
    """`sum` that keeps symbolic numbers symbolic."""
    return builtins.sum(args)


def _constant_message(message):
    """What a message says that is a literal, or a function that returns one."""
    code = getattr(message, "__code__", None)
    if code is not None and not (code.co_names or code.co_freevars or code.co_varnames):
        message = message()
    return message if isinstance(message, str) else None


def _is_constant(value, seen=()):
    """Whether Dynamo takes a value for a constant."""
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        return builtins.all(_is_constant(item, seen) for item in items)
    if isinstance(value, types.FunctionType):
        is_made_here = "<locals>" in value.__qualname__ and (value.__module__ or "").split(".")[0] != "torch"
        return not is_made_here or value not in seen and _closes_over_constants(value, (*seen, value))
    symbolic = (torch.SymInt, torch.SymFloat, torch.SymBool)
    plain = (int, float, complex, str, bytes, type, types.ModuleType, types.BuiltinFunctionType, type(torch.relu), enum.Enum)
    own = (torch.dtype, torch.device, torch.layout, torch.memory_format)
    return value is None or value is ... or isinstance(value, (*plain, *own)) and not isinstance(value, symbolic)


def _closes_over_constants(function, seen=()):
    """Whether the variables of its surroundings that a function reads are constants: else Dynamo ends the graph before a check that
    says what the function gives."""
    cells = getattr(function, "__closure__", None) or ()
    try:
        return builtins.all(_is_constant(cell.cell_contents, seen) for cell in cells)
    except ValueError:
        return False


def _check_with(error_type, cond, message):
    """Raises `error_type` with what `message` says, or returns, unless `cond`."""
    if not isinstance(cond, (bool, torch.SymBool)):
        if isinstance(cond, torch.Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    is_symbolic = isinstance(cond, torch.SymBool)
    if is_symbolic and cond.node.expect(_constant_message(message)):
        return
    if cond:
        return
    if message is None:
        said = (
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )
    else:
        said = str(message() if callable(message) else message)
    if is_symbolic:
        cond.node.failed(said)
    raise error_type(said)


def _check(cond, message=None):
    """RuntimeError unless `cond`."""
    _closes_over_constants(message) or _native_compile._leave("check_message")
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """IndexError unless `cond`."""
    _closes_over_constants(message) or _native_compile._leave("check_message")
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """ValueError unless `cond`."""
    _closes_over_constants(message) or _native_compile._leave("check_message")
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """TypeError unless `cond`."""
    _closes_over_constants(message) or _native_compile._leave("check_message")
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """NotImplementedError unless `cond`."""
    _closes_over_constants(message) or _native_compile._leave("check_message")
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError unless `i` can be a size."""
    for cond in (i >= 0, True if max is None else i <= max):
        if not (isinstance(cond, torch.SymBool) and cond.node.assume()):
            _check(cond, message)


def _check_tensor_all(cond, message=None):
    """RuntimeError unless all elements are true."""
    if not isinstance(cond, torch.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != torch.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check(bool(cond.all().item()), message)


def _element_size(dtype):
    """The bytes of an element."""
    return dtype.itemsize


# What pickles call to make tensors again.


def _rebuild_tensor(storage, storage_offset, size, stride):
    """A tensor over a memory."""
    from torch import _storage

    return _storage.over(storage, storage_offset, size, stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """A tensor over a memory, with its math bits."""
    made = _rebuild_tensor(storage, storage_offset, size, stride)
    metadata = metadata or {}
    made = made.conj() if metadata.get("conj") else made
    return (made._neg_view() if metadata.get("neg") else made).requires_grad_(requires_grad)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    """A tensor over a memory that is counted in bytes."""
    return _rebuild_tensor_v2(storage.view(dtype), storage_offset, size, stride, requires_grad, backward_hooks, metadata)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    """A tensor without a memory."""
    return torch.empty_strided(size, stride, dtype=dtype, device="meta").requires_grad_(requires_grad)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """A parameter."""
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    """A parameter with attributes of its own."""
    made = torch.nn.Parameter(data, requires_grad)
    made.__dict__.update(state)
    return made
