"""Python functions that count as one call of PyTorch: a tensor's `__torch_function__`, a function mode or a capture sees the
call itself, not what its body does."""

from torch import _C

_call = getattr(_C, "_call_overridable", None)


def overridable(function):
    """Lets `torch._C._call_overridable(public, implementation, args, kwargs)` decide between an override and the body."""
    if _call is None:
        return function

    def public(*args, **kwargs):
        return _call(public, function, args, kwargs)

    public.__name__ = public.__qualname__ = function.__name__
    public.__module__ = function.__module__
    public.__doc__ = function.__doc__
    public.__wrapped__ = function
    return public


def is_tensor_like(inp):
    """Whether `inp` is a tensor or stands for one."""
    return isinstance(inp, _C.TensorBase) or hasattr(inp, "__torch_function__")


def __getattr__(name):
    if name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        return getattr(_C, "_" + name)
    if hasattr(_C, name):
        return getattr(_C, name)
    raise AttributeError(f"module 'torch.overrides' has no attribute '{name}'")
