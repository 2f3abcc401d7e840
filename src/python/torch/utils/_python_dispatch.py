"""What a script needs to answer operators itself: `TorchDispatchMode`, and help for `__torch_dispatch__`."""

import contextlib

import torch
from torch import _native_subclass

__all__ = [
    "TorchDispatchMode", "BaseTorchDispatchMode", "is_in_torch_dispatch_mode", "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing", "transform_subclass",
]


class TorchDispatchMode:
    """While it is entered, its `__torch_dispatch__` is asked for every operator, before the classes of its arguments are."""

    # Whether it is asked for higher-order operators, too.
    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        pass

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _native_subclass.push_mode(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        _native_subclass.pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        return False

    @classmethod
    def ignore_compile_internals(cls):
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **({} if kwargs is None else kwargs))


def _get_current_dispatch_mode():
    modes = _native_subclass.modes_in_force()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack():
    return _native_subclass.modes_in_force()


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode is in force."""
    return bool(_native_subclass.modes_in_force())


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    mode = _native_subclass.pop_mode()
    try:
        yield mode
    finally:
        _native_subclass.push_mode(mode)


@contextlib.contextmanager
def _disable_current_modes():
    modes = _native_subclass.modes_in_force()
    for _ in modes:
        _native_subclass.pop_mode()
    try:
        yield modes
    finally:
        for mode in modes:
            _native_subclass.push_mode(mode)


def is_traceable_wrapper_subclass_type(t):
    """Whether a class says what its tensors are made of."""
    return issubclass(t, torch.Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t):
    """Whether a tensor's class says what it is made of."""
    return isinstance(t, torch.Tensor) and type(t) is not torch.Tensor and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """The tensor that is put together of what `callback(name, tensor)` makes of the inner ones."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    made = type(t).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if made.shape != outer_size:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to {outer_size}, but got: {made.shape}"
        )
    if made.stride() != outer_stride:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have stride equal to {outer_stride}, "
            f"but got: {made.stride()}"
        )
    return made


def _argument(aliased, args, kwargs):
    position, name, _ = aliased
    return args[position] if position < len(args) else kwargs[name]


def return_and_correct_aliasing(func, args, kwargs, out):
    """What a `__torch_dispatch__` returns for `out`: what it wrote to is that very argument, and a view has its argument's memory."""
    kwargs = {} if kwargs is None else kwargs
    aliases = _native_subclass.aliases(func)
    for aliased, result in zip(aliases, out if isinstance(out, tuple) else (out,)):
        if aliased is None or aliased[2]:
            continue
        argument = _argument(aliased, args, kwargs)
        for tensor in result if isinstance(result, (list, tuple)) else (result,):
            if not (is_traceable_wrapper_subclass(argument) or is_traceable_wrapper_subclass(tensor)):
                continue
            if type(argument) is not type(tensor):
                raise AssertionError(
                    f"Called {func} with input of type {type(argument)}\n"
                    f"and output of type {type(tensor)}. But expected types to match."
                )
            _native_subclass.share_storage(tensor, argument)
    if _native_subclass.is_inplace_view(func):
        with torch._C._DisableTorchDispatch():
            func(*args, **kwargs)
    written = [_argument(aliased, args, kwargs) for aliased in aliases if aliased is not None and aliased[2]]
    if not written:
        return out
    return written[0] if len(aliases) == 1 else type(out)(written)
