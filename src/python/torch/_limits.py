"""`torch.finfo` and `torch.iinfo`."""

import torch

# Per dtype: bits, bits of the significand after the point, largest exponent, resolution. Source: IEEE 754; bfloat16 is float32 cut off.
_FLOATS = {
    "float8_e4m3fn": (8, 3, 7, 1.0),
    "float8_e5m2": (8, 2, 15, 1.0),
    "float16": (16, 10, 15, 1e-3),
    "bfloat16": (16, 7, 127, 1e-2),
    "float32": (32, 23, 127, 1e-6),
    "float64": (64, 52, 1023, 1e-15),
}
# Where the largest exponent has numbers but for one, which is NaN.
_LARGEST = {"float8_e4m3fn": 448.0}
_COMPLEX = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_INTEGERS = {
    "uint8": (8, False),
    "uint16": (16, False),
    "uint32": (32, False),
    "uint64": (64, False),
    "int8": (8, True),
    "int16": (16, True),
    "int32": (32, True),
    "int64": (64, True),
}


def _name(type):
    return str(type).removeprefix("torch.")


class finfo:
    """Limits of a floating-point dtype; of the default one where none is given."""

    def __init__(self, type=None):
        name = _name(torch.get_default_dtype() if type is None else type)
        name = _COMPLEX.get(name, name)
        if name not in _FLOATS:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        self.bits, digits, exponent, self.resolution = _FLOATS[name]
        self.dtype = name
        self.eps = 2.0**-digits
        self.max = _LARGEST.get(name, (2.0 - self.eps) * 2.0**exponent)
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)

    def __repr__(self):
        values = ", ".join(
            f"{name}={_short(getattr(self, name))}" for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        )
        return f"finfo({values}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


def _short(value):
    """As C++ prints a double: six significant digits."""
    return f"{value:g}"


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, type):
        name = _name(type)
        if name not in _INTEGERS:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        self.bits, signed = _INTEGERS[name]
        self.dtype = name
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1

    def __repr__(self):
        return f"iinfo(min={float(self.min):g}, max={float(self.max):g}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)
