"""`torch.special`: the operators whose names begin with `special_`."""

from torch import _C


def __getattr__(name):
    try:
        value = getattr(_C._special, "special_" + name)
    except AttributeError:
        from torch._absent import attribute_error

        raise attribute_error("torch.special", name) from None
    globals()[name] = value
    return value
