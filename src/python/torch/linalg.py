"""`torch.linalg`: the operators whose names begin with `linalg_`."""

from torch import _C
from torch._errors import _LinAlgError as LinAlgError


def __getattr__(name):
    try:
        value = getattr(_C._linalg, "linalg_" + name)
    except AttributeError:
        from torch._absent import attribute_error

        raise attribute_error("torch.linalg", name) from None
    globals()[name] = value
    return value
