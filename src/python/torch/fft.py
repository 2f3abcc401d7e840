"""`torch.fft`: the operators whose names begin with `fft_`."""

from torch import _C


def __getattr__(name):
    try:
        value = getattr(_C._fft, "fft_" + name)
    except AttributeError:
        from torch._absent import attribute_error

        raise attribute_error("torch.fft", name) from None
    globals()[name] = value
    return value
