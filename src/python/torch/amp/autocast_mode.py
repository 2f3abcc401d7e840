"""`autocast`: inside, operators that are safe with it run in a shorter dtype. The casts are the dispatcher's."""

import functools
import warnings

import torch
from torch import _native_transforms as _native

_OTHERS = {"cuda": torch.float16, "xpu": torch.float16, "mps": torch.float16}
_enabled_elsewhere = {}


def is_autocast_available(device_type):
    """Whether a device has autocast."""
    return device_type == "cpu" or device_type in _OTHERS


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on for a device."""
    return _native.is_autocast_cpu_enabled() if device_type == "cpu" else _enabled_elsewhere.get(device_type, False)


def is_autocast_cpu_enabled():
    """Whether autocast is on for the CPU."""
    return _native.is_autocast_cpu_enabled()


def get_autocast_dtype(device_type):
    """The short dtype of a device."""
    if device_type == "cpu":
        return _native._autocast_dtype()
    if device_type not in _OTHERS:
        raise RuntimeError(f"unsupported scalarType for autocast device_type: {device_type}")
    return _OTHERS[device_type]


def get_autocast_cpu_dtype():
    """The short dtype of the CPU."""
    return _native._autocast_dtype()


def get_autocast_gpu_dtype():
    """The short dtype of CUDA."""
    return _OTHERS["cuda"]


def set_autocast_enabled(device_type, enabled=None):
    """Turns autocast on or off."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if device_type == "cpu":
        _native._set_autocast(enabled, _native._autocast_dtype(), _native.is_autocast_cache_enabled())
    else:
        _enabled_elsewhere[device_type] = enabled


def set_autocast_dtype(device_type, dtype):
    """Sets the short dtype of a device."""
    if device_type == "cpu":
        _native._set_autocast(_native.is_autocast_cpu_enabled(), dtype, _native.is_autocast_cache_enabled())
    else:
        _OTHERS[device_type] = dtype


def is_autocast_cache_enabled():
    """Whether casts of parameters are kept."""
    return _native.is_autocast_cache_enabled()


def set_autocast_cache_enabled(enabled):
    """Says whether casts of parameters are kept."""
    _native._set_autocast(_native.is_autocast_cpu_enabled(), _native._autocast_dtype(), enabled)


def clear_autocast_cache():
    """Forgets the casts of parameters."""
    _native.clear_autocast_cache()


def autocast_increment_nesting():
    """A block begins."""
    return _native.autocast_increment_nesting()


def autocast_decrement_nesting():
    """A block ends."""
    return _native.autocast_decrement_nesting()


class autocast:
    """Autocast for a block, or for a function as a decorator."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._says_dtype = dtype is not None
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda" and not torch.cuda._has_driver():
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        if enabled and device_type == "cpu" and self.fast_dtype not in (torch.bfloat16, torch.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtype of "
                "torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self):
        autocast_increment_nesting()
        if self.device == "cpu":
            self.before = (is_autocast_enabled("cpu"), get_autocast_dtype("cpu"), is_autocast_cache_enabled())
            _native._record_autocast_enter(self.fast_dtype, self._enabled, self._says_dtype)
            _native._set_autocast(self._enabled, self.fast_dtype, self._cache_enabled)
        return self

    def __exit__(self, *args):
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        if self.device == "cpu":
            _native._set_autocast(*self.before)
            _native._record_autocast_exit()
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
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_autocast_enabled(device_type)
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
