"""`autocast`: inside, operators that are safe with it run in a shorter dtype. The casts are the dispatcher's."""

import functools

import torch
from torch import _C

_DTYPES = {"cpu": "bfloat16", "cuda": "float16"}


def is_autocast_available(device_type):
    """Whether a device has autocast."""
    return device_type in _DTYPES


class autocast:
    """Autocast for a block, or for a function as a decorator."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = getattr(torch, _DTYPES[device_type]) if dtype is None else dtype
        self._cache_enabled = True if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda" and not torch.cuda.is_available():
            import warnings

            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2)
            enabled = False
        if enabled and device_type == "cpu" and self.fast_dtype not in (torch.bfloat16, torch.float16):
            import warnings

            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtype of "
                "torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        if enabled and not hasattr(_C, "set_autocast_enabled"):
            raise NotImplementedError("torch.autocast is not available in the playground")
        self._enabled = enabled

    def __enter__(self):
        if not hasattr(_C, "set_autocast_enabled"):
            return self
        self.before = (_C.is_autocast_enabled(self.device), _C.get_autocast_dtype(self.device))
        _C.set_autocast_enabled(self.device, self._enabled)
        _C.set_autocast_dtype(self.device, self.fast_dtype)
        return self

    def __exit__(self, *args):
        if not hasattr(_C, "set_autocast_enabled"):
            return False
        _C.set_autocast_enabled(self.device, self.before[0])
        _C.set_autocast_dtype(self.device, self.before[1])
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def decorate_autocast(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return decorate_autocast


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """A `Function.forward` whose backward runs under the same autocast."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(ctx, *args, **kwargs):
        ctx._dtype = None
        ctx._fwd_used_autocast = torch.is_autocast_enabled(device_type)
        if ctx._fwd_used_autocast:
            ctx._dtype = _C.get_autocast_dtype(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(ctx, *args, **kwargs)
        args = [
            one.to(cast_inputs) if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in args
        ]
        ctx._fwd_used_autocast = False
        with autocast(device_type=device_type, enabled=False):
            return fwd(ctx, *args, **kwargs)

    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    """A `Function.backward` under the autocast of its forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
