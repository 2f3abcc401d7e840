"""`torch.backends`: none of these libraries is here; what scripts set is kept for who asks."""

import sys
import types


class _Backend(types.ModuleType):
    """Settings of a library, which scripts also import as a module."""

    def __init__(self, available=False, **settings):
        super().__init__("torch.backends")
        self._available = available
        self.__dict__.update(settings)

    def is_available(self):
        """Whether the library is here."""
        return self._available

    is_built = is_available

    def version(self):
        """None."""

    def flags(self, **settings):
        """Settings for a block."""
        return _Flags(self, settings)


class _Flags:
    def __init__(self, backend, settings):
        self.backend, self.settings = backend, settings

    def __enter__(self):
        self.before = {name: getattr(self.backend, name, None) for name in self.settings}
        self.backend.__dict__.update(self.settings)

    def __exit__(self, *args):
        self.backend.__dict__.update(self.before)


def _allowed(backend):
    """Whether a way of computing attention may be used; numbers are those of `SDPBackend`."""
    from torch import _native

    return bool(_native._allowed_sdp() >> backend & 1)


def _allow(backend, enabled):
    from torch import _native

    before = _native._allowed_sdp() & ~(1 << backend)
    _native._allow_sdp(before | (bool(enabled) << backend))


cudnn = _Backend(enabled=True, benchmark=False, deterministic=False, allow_tf32=True)
mps = _Backend()
mkldnn = _Backend(enabled=True)
mkl = _Backend()
openmp = _Backend()
opt_einsum = _Backend(enabled=True, strategy="auto")
cuda = _Backend(
    matmul=_Backend(
        allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True
    ),
    enable_math_sdp=lambda enabled: _allow(0, enabled),
    enable_flash_sdp=lambda enabled: _allow(1, enabled),
    enable_mem_efficient_sdp=lambda enabled: _allow(2, enabled),
    enable_cudnn_sdp=lambda enabled: _allow(3, enabled),
    math_sdp_enabled=lambda: _allowed(0),
    flash_sdp_enabled=lambda: _allowed(1),
    mem_efficient_sdp_enabled=lambda: _allowed(2),
    cudnn_sdp_enabled=lambda: _allowed(3),
)
cpu = _Backend(True, get_cpu_capability=lambda: "DEFAULT")
_fastpath = [True]
mha = _Backend(True, get_fastpath_enabled=lambda: _fastpath[0], set_fastpath_enabled=lambda value: _fastpath.__setitem__(0, value))

for _name, _part in list(globals().items()):
    if isinstance(_part, _Backend):
        _part.__name__ = f"torch.backends.{_name}"
        sys.modules[_part.__name__] = _part
