"""Python functions that count as one call of PyTorch: a tensor's `__torch_function__`, a function mode or a capture sees the
call itself, not what its body does."""

from torch._native_compile import _call_overridable


def overridable(function):
    """A function, or a method of tensors, whose call counts as one."""

    def public(*args, **kwargs):
        return _call_overridable(public, function, args, kwargs)

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


def __getattr__(name):
    from torch import _C

    if name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        return getattr(_C, "_" + name)
    if hasattr(_C, name):
        return getattr(_C, name)
    raise AttributeError(f"module 'torch.overrides' has no attribute '{name}'")
