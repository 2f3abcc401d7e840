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


def has_torch_function(relevant_args):
    """Whether an argument's class says what functions do with it, as a plain tensor's and a parameter's do not."""
    from torch import _C, Tensor
    from torch.nn import Parameter

    plain = (Tensor, Parameter, _C.TensorBase)
    others = (getattr(type(x), "__torch_function__", None) for x in relevant_args if type(x) not in plain)
    return any(function not in (None, _C._disabled_torch_function_impl) for function in others)


def has_torch_function_unary(obj):
    """`has_torch_function` of one argument."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*args):
    """`has_torch_function` of the arguments."""
    return has_torch_function(args)


def __getattr__(name):
    from torch import _C

    if hasattr(_C, name):
        return getattr(_C, name)
    raise AttributeError(f"module 'torch.overrides' has no attribute '{name}'")
