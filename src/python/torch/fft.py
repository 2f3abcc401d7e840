"""`torch.fft`: the operators whose names begin with `fft_`."""

from torch import _C


def __getattr__(name):
    try:
        value = getattr(_C._fft, "fft_" + name)
    except AttributeError:
        raise AttributeError(f"module 'torch.fft' has no attribute '{name}'") from None
    globals()[name] = value
    return value
