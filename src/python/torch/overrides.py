"""What lets the script have a say in calls of PyTorch's: `__torch_function__` of classes and modes; and Python functions that count as
one such call: classes, modes and a capture see the call itself, not what its body does."""

import contextlib
import functools

from torch import _native_torch_function
from torch._native_compile import _call_as_one, _call_overridable


def overridable(function):
    """A function, or a method of tensors, whose call counts as one."""

    def public(*args, **kwargs):
        return _call_overridable(public, function, args, kwargs)

    return _named_after(public, function)


def counts_as_one(function):
    """A function whose call counts as one to a capture, and which classes and modes are not asked about."""

    def public(*args, **kwargs):
        return _call_as_one(public, function, args, kwargs)

    return _named_after(public, function)


def asks(method):
    """A method of tensors that asks classes and modes, and is Python to a capture."""

    def public(*args, **kwargs):
        handled, result = _native_torch_function.ask(public, args, kwargs)
        return result if handled else method(*args, **kwargs)

    return _named_after(public, method)


def _named_after(public, function):
    public.__name__ = function.__name__
    public.__qualname__ = function.__qualname__
    public.__module__ = function.__module__
    public.__doc__ = function.__doc__
    public.__wrapped__ = function
    return public


def is_tensor_like(inp):
    """Whether `inp` is a tensor or stands for one."""
    from torch import _C

    return isinstance(inp, _C.TensorBase) or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args):
    """Whether an argument's class says what functions do with it, as a plain tensor's and a parameter's do not; or a mode does."""
    return _native_torch_function.any_handles(relevant_args)


def has_torch_function_unary(obj):
    """`has_torch_function` of one argument."""
    return _native_torch_function.any_handles((obj,))


def has_torch_function_variadic(*args):
    """`has_torch_function` of the arguments."""
    return _native_torch_function.any_handles(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What those make of a call of `public_api(*args, **kwargs)` who are asked about it because of `relevant_args`."""
    handled, result = _native_torch_function.ask_of(public_api, tuple(relevant_args), args, kwargs)
    return result if handled else _not_implemented(public_api, [type(a) for a in relevant_args])


def wrap_torch_function(dispatcher):
    """A decorator for functions: `dispatcher` gives of the arguments those whose classes are asked."""

    def wrapping(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return wrapping


def _not_implemented(function, types):
    """Everyone who was asked about a call said that it was not their business."""
    name = resolve_name(function) or getattr(function, "__name__", str(function))
    if hasattr(function, "__code__"):
        raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {types}")
    asked = "\n".join(f"  - tensor subclass {cls}" for cls in types)
    raise TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n{asked}\n\n"
        "For more information, try re-running with TORCH_LOGS=not_implemented"
    )


@functools.lru_cache(None)
def get_default_nowrap_functions():
    """What `Tensor.__torch_function__` gives as it is."""
    from torch import Tensor

    return {Tensor._base.__get__, Tensor.grad.__get__}


def is_tensor_method_or_property(func):
    """Whether a function is a method of tensors, or reads or sets an attribute of theirs."""
    from torch import Tensor

    return func.__name__ in ("__get__", "__set__") or getattr(Tensor, func.__name__, None) is func


def resolve_name(f):
    """The name that a script calls a function by."""
    import torch

    if isinstance(f, (torch._C.OpOverload, torch._C.OpOverloadPacket)) and str(f).startswith(("aten.", "prims.")):
        return str(f)
    name = getattr(f, "__name__", None)
    if name in ("__get__", "__set__"):
        of = getattr(f, "__self__", None)
        of_name = getattr(of, "__name__", None) or getattr(getattr(of, "fget", None), "__name__", "")
        return f"torch.Tensor.{of_name}.{name}"
    if name is None:
        return None
    if is_tensor_method_or_property(f):
        return f"torch.Tensor.{name}"
    for prefix, module in (
        ("torch.nn.functional", torch.nn.functional), ("torch.functional", torch.functional), ("torch", torch),
        ("torch.linalg", torch.linalg), ("torch.fft", torch.fft), ("torch.special", torch.special), ("torch.nn.init", torch.nn.init),
    ):
        short = name.removeprefix(prefix.rpartition(".")[2] + "_")
        for candidate in (name, short):
            if getattr(module, candidate, None) is f:
                return f"{prefix}.{candidate}"
    return None


class TorchFunctionMode:
    """While it is entered, its `__torch_function__` is asked about every call, before the classes of its arguments are."""

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _native_torch_function.push_mode(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        _native_torch_function.pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **({} if kwargs is None else kwargs))


def _get_current_function_mode():
    modes = _native_torch_function.modes_in_force()
    return modes[-1] if modes else None


def _get_current_function_mode_stack():
    return _native_torch_function.modes_in_force()


@contextlib.contextmanager
def _pop_mode_temporarily():
    mode = _native_torch_function.pop_mode()
    try:
        yield mode
    finally:
        _native_torch_function.push_mode(mode)


@contextlib.contextmanager
def _enable_torch_function():
    before = _native_torch_function.disabled()
    _native_torch_function.restore(0)
    try:
        yield
    finally:
        _native_torch_function.restore(before)



def __getattr__(name):
    from torch import _C

    if hasattr(_C, name):
        return getattr(_C, name)
    raise AttributeError(f"module 'torch.overrides' has no attribute '{name}'")
