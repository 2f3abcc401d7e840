"""`torch.special`: the operators whose names begin with `special_`."""

from torch import _C


def __getattr__(name):
    try:
        value = getattr(_C._special, "special_" + name)
    except AttributeError:
        raise AttributeError(f"module 'torch.special' has no attribute '{name}'") from None
    globals()[name] = value
    return value
