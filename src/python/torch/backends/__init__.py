"""`torch.backends`: none of these libraries is here; what scripts set is kept for who asks."""


class _Backend:
    """Settings of a library."""

    def __init__(self, available=False, **settings):
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
    enable_flash_sdp=lambda enabled: None,
    enable_mem_efficient_sdp=lambda enabled: None,
    enable_math_sdp=lambda enabled: None,
    flash_sdp_enabled=lambda: True,
    mem_efficient_sdp_enabled=lambda: True,
    math_sdp_enabled=lambda: True,
)
cpu = _Backend(True, get_cpu_capability=lambda: "DEFAULT")
mha = _Backend(True, get_fastpath_enabled=lambda: False, set_fastpath_enabled=lambda value: None)
