"""`torch.cuda.amp`, of old."""

from torch.amp import GradScaler as _GradScaler
from torch.amp import autocast as _autocast


class autocast(_autocast):
    """`torch.amp.autocast` of CUDA."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """`torch.amp.GradScaler` of CUDA."""

    def __init__(self, *args, **kwargs):
        super().__init__("cuda", *args, **kwargs)
