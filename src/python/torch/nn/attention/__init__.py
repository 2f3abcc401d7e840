"""Which ways of computing attention may be used. Here there are two: the CPU's fused operator, and products with a softmax."""

import contextlib
import enum

from torch import _native

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.Enum):
    """A way of computing `scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Allows some backends alone, for a block."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}"
        )
    backends = [backends] if isinstance(backends, SDPBackend) else backends
    before = _native._allowed_sdp()
    _native._allow_sdp(sum(1 << backend.value for backend in set(backends) if backend.value >= 0))
    try:
        yield {}
    finally:
        _native._allow_sdp(before)
