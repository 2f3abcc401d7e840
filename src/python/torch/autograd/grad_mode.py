"""Switches of what is recorded for backward: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`."""

from torch import _C
from torch._native_compile import _grad_block
from torch.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager

__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "set_multithreading_enabled"]


class no_grad(_NoParamDecoratorContextManager):
    """Nothing computed inside is recorded for backward."""

    def __init__(self):
        self.prev = False

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _grad_block(self, self.prev, False)
        _C._set_grad_enabled(False)

    def __exit__(self, exc_type, exc_value, traceback):
        _C._set_grad_enabled(self.prev)
        _grad_block(self, None)


class enable_grad(_NoParamDecoratorContextManager):
    """What is computed inside is recorded, also within `no_grad`."""

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _grad_block(self, self.prev, True)
        _C._set_grad_enabled(True)

    def __exit__(self, exc_type, exc_value, traceback):
        _C._set_grad_enabled(self.prev)
        _grad_block(self, None)


class set_grad_enabled(_DecoratorContextManager):
    """Switches recording on or off: at once as a function, for a block as a context manager, per call as a decorator."""

    def __init__(self, mode):
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, orig_func):
        _C._set_grad_enabled(self.prev)
        return super().__call__(orig_func)

    def __enter__(self):
        _grad_block(self, self.prev, self.mode)
        _C._set_grad_enabled(self.mode)

    def __exit__(self, exc_type, exc_value, traceback):
        _C._set_grad_enabled(self.prev)
        _grad_block(self, None)

    def __str__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__

    def clone(self):
        return self.__class__(self.mode)


class inference_mode(_DecoratorContextManager):
    """Like `no_grad`, and what is made inside can never be recorded later."""

    def __new__(cls, mode=True):
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode=True):
        self.mode = mode

    def __enter__(self):
        self._inference_mode_context = _C._InferenceMode(self.mode)
        self._inference_mode_context.__enter__()

    def __exit__(self, exc_type, exc_value, traceback):
        self._inference_mode_context.__exit__(exc_type, exc_value, traceback)

    def clone(self):
        return self.__class__(self.mode)


class set_multithreading_enabled(_DecoratorContextManager):
    """Kept for scripts that say it: one thread runs every backward here."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        pass

    def __exit__(self, exc_type, exc_value, traceback):
        pass

    def clone(self):
        return self.__class__(self.mode)
