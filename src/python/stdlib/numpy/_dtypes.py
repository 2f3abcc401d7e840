"""Data types and their promotion (NEP 50).

A dtype is one object for each name. PyTorch's tensors here have no unsigned integers beyond 8 bits; arrays of those are held in wider
signed ones, and wrap around where numpy's do.
"""

import torch

from numpy._absent import unavailable

_TABLE = """
bool_ b 1 ? bool bool
int8 i 1 b int8 byte
uint8 u 1 B uint8 ubyte
int16 i 2 h int16 short
uint16 u 2 H int32 ushort
int32 i 4 i int32 intc
uint32 u 4 I int64 uintc
int64 i 8 l int64 long,int_,intp,longlong,int
uint64 u 8 L int64 ulong,uint,uintp,ulonglong
float16 f 2 e float16 half
float32 f 4 f float32 single
float64 f 8 d float64 double,float
complex64 c 8 F complex64 csingle
complex128 c 16 D complex128 cdouble,complex
"""


class dtype:
    """`np.dtype`: of a name, a code, a scalar type or a type of Python's."""

    __slots__ = ("name", "kind", "itemsize", "char", "type", "_torch", "_number", "_scalar_name", "__weakref__")

    def __new__(cls, spec=None, align=False, copy=False):
        return resolve(spec)

    @property
    def str(self):
        return f"{'|' if self.itemsize == 1 else '<'}{self.kind}{self.itemsize}"

    @property
    def num(self):
        return self._number

    byteorder = property(lambda self: "|" if self.itemsize == 1 else "=")
    names = fields = subdtype = property(lambda self: None)
    hasobject = property(lambda self: False)
    shape = property(lambda self: ())
    isnative = property(lambda self: True)

    def newbyteorder(self, order="S"):
        raise unavailable("another byte order")

    def __repr__(self):
        return f"dtype('{self.name}')"

    def __str__(self):
        return self.name

    def __eq__(self, other):
        if isinstance(other, dtype):
            return self is other
        try:
            return resolve(other) is self
        except (TypeError, NotImplementedError):
            return False

    def __hash__(self):
        return hash(self.name)

    def __reduce__(self):
        return dtype, (self.name,)


_BY_SPEC = {}
ALL = []


def _make():
    for number, line in enumerate(_TABLE.split("\n")[1:-1]):
        name, kind, size, char, held, aliases = line.split()
        made = object.__new__(dtype)
        made.name, made.kind, made.itemsize, made.char = name.rstrip("_"), kind, int(size), char
        made._torch, made._number, made._scalar_name, made.type = getattr(torch, held), number, name, None
        for spec in (made.name, name, char, f"{kind}{size}", *aliases.split(",")):
            _BY_SPEC[spec] = made
        if char != "b":
            _BY_SPEC.setdefault(f"{kind}{size}", made)
        ALL.append(made)
    _BY_SPEC.update({"b": _BY_SPEC["int8"], "q": _BY_SPEC["int64"], "Q": _BY_SPEC["uint64"], "p": _BY_SPEC["int64"]})
    _BY_SPEC.update({bool: _BY_SPEC["bool"], int: _BY_SPEC["int64"], float: _BY_SPEC["float64"], complex: _BY_SPEC["complex128"]})
    _BY_SPEC[None] = _BY_SPEC["float64"]


_make()
BOOL, INT64, FLOAT16, FLOAT32, FLOAT64 = (_BY_SPEC[name] for name in "bool int64 float16 float32 float64".split())
COMPLEX64, COMPLEX128, UINT64 = _BY_SPEC["complex64"], _BY_SPEC["complex128"], _BY_SPEC["uint64"]
OF_TORCH = {made._torch: made for made in ALL if made.name not in ("uint16", "uint32", "uint64")}
WIDE_UNSIGNED = {_BY_SPEC["uint16"]: 0xFFFF, _BY_SPEC["uint32"]: 0xFFFFFFFF}


def resolve(spec):
    """The dtype that something stands for."""
    if type(spec) is dtype:
        return spec
    try:
        found = _BY_SPEC.get(spec)
    except TypeError:
        found = None
    if found is not None:
        return found
    if isinstance(spec, str):
        text = spec
        if text[:1] in "<=|":
            return resolve(text[1:])
        if text[:1] == ">":
            raise unavailable("another byte order")
        if text[:1] in ("U", "S", "O", "V", "M", "m") or text in ("object", "str", "bytes", "datetime64", "timedelta64"):
            raise unavailable(f"dtype '{spec}'", "a list")
        if text in ("g", "G", "longdouble", "float128"):
            raise unavailable(f"dtype '{spec}'", "float64")
        raise TypeError(f"data type '{spec}' not understood")
    held = getattr(spec, "dtype", None)
    if isinstance(held, dtype):
        return held
    if spec in (str, bytes, object) or isinstance(spec, (list, tuple, dict)):
        raise unavailable(f"dtype {getattr(spec, '__name__', spec)!r}", "a list")
    raise TypeError(f"Cannot interpret '{spec!r}' as a data type")


def promote_types(type1, type2):
    """The smallest dtype that holds what two others hold."""
    return promote(resolve(type1), resolve(type2))


_promoted = {}


def promote(a, b):
    """The same of two dtypes."""
    if a is b:
        return a
    key = (a._number, b._number)
    found = _promoted.get(key)
    if found is None:
        found = _promoted[key] = _promote(a, b)
    return found


def _promote(a, b):
    if "bifc".index(a.kind.replace("u", "i")) > "bifc".index(b.kind.replace("u", "i")):
        a, b = b, a
    if a.kind == "b":
        return b
    if a.kind == b.kind:
        return max(a, b, key=lambda t: t.itemsize)
    if b.kind in "iu":
        signed, unsigned = (a, b) if a.kind == "i" else (b, a)
        if unsigned.itemsize < signed.itemsize:
            return signed
        return _BY_SPEC[f"i{2 * unsigned.itemsize}"] if unsigned.itemsize < 8 else FLOAT64
    # A float or complex of as many bits as integers need.
    part = b.itemsize // 2 if b.kind == "c" else b.itemsize
    need = {1: 2, 2: 4}.get(a.itemsize, 8) if a.kind in "iu" else a.itemsize
    size = max(part, need)
    return _BY_SPEC[f"c{2 * max(size, 4)}"] if b.kind == "c" else _BY_SPEC[f"f{size}"]


def with_weak(strong, weak):
    """What a dtype becomes beside a number of Python's: `weak` is `i`, `f` or `c`."""
    if weak == "i":
        return INT64 if strong.kind == "b" else strong
    if weak == "f":
        return FLOAT64 if strong.kind in "biu" else strong
    if strong.kind == "c":
        return strong
    return COMPLEX64 if strong.name in ("float16", "float32") else COMPLEX128


OF_WEAK = {"i": INT64, "f": FLOAT64, "c": COMPLEX128}


def can_cast(a, b, casting="safe"):
    """Whether one dtype casts to another under a rule."""
    a, b = resolve(a), resolve(b)
    if casting == "unsafe" or a is b:
        return True
    if casting in ("no", "equiv"):
        return False
    order = "buifc"
    if casting == "same_kind":
        return order.index(a.kind) <= order.index(b.kind) or a.kind == b.kind or promote(a, b) is b
    return promote(a, b) is b


class _Info:
    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self.__dict__.items())})"


class finfo(_Info):
    """The limits of a dtype of floats."""

    def __new__(cls, dtype):
        dtype = resolve(type(dtype) if isinstance(dtype, (int, float)) else dtype)
        if dtype.kind not in "fc":
            raise ValueError(f"data type {dtype.type!r} not inexact")
        part = _BY_SPEC[f"f{dtype.itemsize // 2}"] if dtype.kind == "c" else dtype
        made, info = object.__new__(cls), torch.finfo(part._torch)
        made.dtype, made.bits = part, info.bits
        from numpy._scalars import scalar

        made.eps, made.max, made.min = (scalar(x, part) for x in (info.eps, info.max, info.min))
        made.tiny = made.smallest_normal = scalar(info.tiny, part)
        made.resolution = scalar(info.resolution, part)
        return made


class iinfo(_Info):
    """The limits of a dtype of integers."""

    def __new__(cls, type):
        dtype = resolve(int if isinstance(type, int) else type)
        if dtype.kind not in "iu":
            raise ValueError(f"Invalid integer data type '{dtype.kind}'.")
        made, (made_min, made_max) = object.__new__(cls), bounds(dtype)
        made.min, made.max, made.dtype, made.bits = made_min, made_max, dtype, 8 * dtype.itemsize
        return made


def bounds(dtype):
    """The smallest and the largest integer of a dtype."""
    bits = 8 * dtype.itemsize
    return (0, 2**bits - 1) if dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
