"""The part of numpy that training scripts use, over PyTorch's tensors, whose memory arrays share.

What prints, promotes and draws does so as numpy 2 does. A name that is not here says so where it is asked for. Inside a compiled
function a call of numpy becomes part of the graph (`_capture`).
"""

from math import e, inf, nan, pi

from numpy import _array, _dtypes, _functions, _printing, _reductions, _scalars, _ufuncs
from numpy._array import AxisError, ComplexWarning, array, asarray, ndarray
from numpy._dtypes import can_cast, dtype, finfo, iinfo, promote_types
from numpy._io import frombuffer, load, save, savez, savez_compressed
from numpy._linear import matmul
from numpy._ufuncs import ufunc

__version__ = "2.4.6"
newaxis = None
euler_gamma = 0.5772156649015329
little_endian = True
True_, False_ = _scalars.TRUE, _scalars.FALSE


def _export():
    for part in (_ufuncs.ALL, _public(_functions), _public(_reductions), _public(_printing)):
        globals().update(part)
    scalars = "generic number integer signedinteger unsignedinteger inexact floating complexfloating flexible character bool_"
    for name in scalars.split():
        globals()[name] = getattr(_scalars, name)
    for made in _dtypes.ALL:
        globals()[made.name] = made.type
    aliases = {
        "byte": "int8", "ubyte": "uint8", "short": "int16", "ushort": "uint16", "intc": "int32", "uintc": "uint32", "int_": "int64",
        "long": "int64", "longlong": "int64", "intp": "int64", "uint": "uint64", "ulong": "uint64", "ulonglong": "uint64", "uintp": "uint64",
        "half": "float16", "single": "float32", "double": "float64", "csingle": "complex64", "cdouble": "complex128",
    }
    for alias, name in aliases.items():
        globals()[alias] = globals()[name]


def _public(module):
    """What a file defines that scripts call."""
    own = {}
    for name, value in vars(module).items():
        home = getattr(value, "__module__", None)
        if not name.startswith("_") and (home in ("numpy", module.__name__) or name in ("mgrid", "ogrid", "r_", "c_", "s_", "index_exp")):
            own[name] = value
    for name in ("array", "asarray", "ndarray", "dtype", "generic", "unavailable", "AxisError", "ndarray_or_0d", "integer_types"):
        own.pop(name, None)
    for name in ("common", "operand", "tensor_of", "wrapped", "cast", "box", "promote", "resolve", "axes_of", "kept", "finish", "total"):
        own.pop(name, None)
    for name in ("positional", "scientific", "text_of"):
        own.pop(name, None)
    return own


_export()
_PARTS = ("random", "linalg", "testing")


class errstate:
    """What is done about floating-point errors: nothing here, as under `all='ignore'`."""

    def __init__(self, **kwargs):
        _no_raising(kwargs)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def __call__(self, function):
        return function


def _no_raising(kwargs):
    from numpy._absent import unavailable

    if {"raise", "call", "log", "print"} & set(kwargs.values()):
        raise unavailable("raising at floating-point errors", "np.isfinite")


def seterr(all=None, divide=None, over=None, under=None, invalid=None):
    """The same for the rest of the script."""
    _no_raising(dict(all=all, divide=divide, over=over, under=under, invalid=invalid))
    return {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def geterr():
    """The same, asked for."""
    return {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def __getattr__(name):
    if name in _PARTS:
        return __import__(f"numpy.{name}", fromlist=["_"])
    if name == "exceptions":
        return _array
    from numpy._absent import attribute_error

    raise attribute_error("numpy", name)


def __dir__():
    return sorted({*(name for name in globals() if not name.startswith("_")), *_PARTS})
