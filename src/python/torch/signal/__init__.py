"""`torch.signal`."""

from torch.signal import windows

__all__ = ["windows"]
