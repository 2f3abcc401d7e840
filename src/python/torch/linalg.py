"""`torch.linalg`: the operators whose names begin with `linalg_`."""

from torch import _C
from torch._errors import _LinAlgError as LinAlgError


def __getattr__(name):
    try:
        value = getattr(_C._linalg, "linalg_" + name)
    except AttributeError:
        raise AttributeError(f"module 'torch.linalg' has no attribute '{name}'") from None
    globals()[name] = value
    return value
