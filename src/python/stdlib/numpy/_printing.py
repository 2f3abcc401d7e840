"""How arrays and scalars are written: `print(a)`, `repr(a)`, `np.set_printoptions`."""

import contextlib

import _numpy
import torch

from numpy import _dtypes

# From which numbers on floats have an exponent: scalars, arrays.
_LARGE = {8: (1e16, 1e8), 4: (1e6, 1e6), 2: (1e3, 1e3)}
_DEFAULTS = {
    "edgeitems": 3, "threshold": 1000, "floatmode": "maxprec", "precision": 8, "suppress": False, "linewidth": 75, "nanstr": "nan",
    "infstr": "inf", "sign": "-", "formatter": None, "legacy": False, "override_repr": None,
}
_options = dict(_DEFAULTS)


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, suppress=None, nanstr=None, infstr=None,
                     formatter=None, sign=None, floatmode=None, *, legacy=None, override_repr=None):
    """Chooses how arrays are written."""
    given = dict(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth, suppress=suppress, nanstr=nanstr,
                 infstr=infstr, sign=sign, floatmode=floatmode)
    _check(given)
    _options.update({name: value for name, value in given.items() if value is not None})
    _options["formatter"] = formatter


def _check(given):
    from numpy._absent import unavailable

    if given.get("floatmode") not in (None, "maxprec", "fixed", "unique", "maxprec_equal"):
        raise ValueError("floatmode option must be one of fixed, unique, maxprec, maxprec_equal")
    if given.get("sign") not in (None, "-", "+", " "):
        raise ValueError("sign option must be one of ' ', '+', or '-'")
    if given.get("threshold") != given.get("threshold"):
        raise ValueError("threshold must be non-NAN, try sys.maxsize for untruncated representation")
    if given.get("legacy"):
        raise unavailable("printing of older versions")


def get_printoptions():
    """How arrays are written."""
    return dict(_options)


@contextlib.contextmanager
def printoptions(*args, **kwargs):
    """The same within a block."""
    before = dict(_options)
    try:
        set_printoptions(*args, **kwargs)
        yield get_printoptions()
    finally:
        _options.update(before)


# Numbers


def _digits(value, itemsize):
    """The shortest digits of a finite float and the power of ten of the first."""
    if itemsize == 8:
        text = repr(value)
        mantissa, _, exponent = text.lstrip("-").partition("e")
        whole, _, fraction = mantissa.partition(".")
        digits = whole + ("" if fraction == "0" and not exponent else fraction)
        power = int(exponent or 0) + len(whole) - 1
        stripped = digits.lstrip("0")
        power -= len(digits) - len(stripped)
        return stripped.rstrip("0") or "0", power if stripped else 0
    mantissa, _, exponent = _numpy.shortest(value, itemsize).lstrip("-").partition("e")
    return mantissa.replace(".", "").rstrip("0") or "0", int(exponent)


def _sign(value):
    return "-" if value < 0 or value == 0 and str(value)[0] == "-" else ""


def positional(value, itemsize, precision=None):
    """A finite float without exponent: whole digits, and those behind the point, cut at a precision."""
    digits, power = _digits(value, itemsize)
    whole = digits[: power + 1].ljust(power + 1, "0") if power >= 0 else "0"
    fraction = (digits[power + 1 :] if power >= 0 else "0" * (-power - 1) + digits).rstrip("0")
    if precision is not None and len(fraction) > precision:
        whole, _, fraction = f"{abs(value):.{precision}f}".partition(".")
        fraction = fraction.rstrip("0")
    return _sign(value) + whole, fraction


def scientific(value, itemsize, precision=None):
    """The same with an exponent: whole digit, those behind the point, exponent."""
    digits, power = _digits(value, itemsize)
    fraction = digits[1:]
    whole = digits[0]
    if precision is not None and len(fraction) > precision:
        text, _, exponent = f"{abs(value):.{precision}e}".partition("e")
        whole, _, fraction = text.partition(".")
        power = int(exponent)
        fraction = fraction.rstrip("0")
    return _sign(value) + whole, fraction, f"{'-' if power < 0 else '+'}{abs(power):02d}"


def _float_text(value, itemsize):
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if value == 0 or 1e-4 <= abs(value) < _LARGE[itemsize][0]:
        whole, fraction = positional(value, itemsize)
        return f"{whole}.{fraction or '0'}"
    whole, fraction, exponent = scientific(value, itemsize)
    return f"{whole}{'.' + fraction if fraction else ''}e{exponent}"


def text_of(value, dtype):
    """A scalar's `str`."""
    if dtype.kind == "f":
        return _float_text(value, dtype.itemsize)
    if dtype.kind != "c":
        return str(value)
    size = dtype.itemsize // 2

    def part(number):
        text = _float_text(number, size)
        return text[:-2] if text.endswith(".0") else text

    imag = part(value.imag)
    if value.real == 0 and _sign(value.real) == "":
        return f"{imag}j"
    return f"({part(value.real)}{'' if imag[0] == '-' else '+'}{imag}j)"


# Formats of all elements of an array


class _Floats:
    """Floats of one width."""

    def __init__(self, values, itemsize, options, sign=None):
        self.itemsize, self.options = itemsize, options
        self.sign = options["sign"] if sign is None else sign
        mode, precision = options["floatmode"], options["precision"]
        self.precision = None if mode == "unique" else precision
        finite = [v for v in values if v == v and v not in (float("inf"), float("-inf"))]
        sizes = [abs(v) for v in finite if v != 0]
        self.has_exponent = bool(sizes) and (
            max(sizes) >= _LARGE[itemsize][1] or not options["suppress"] and (min(sizes) < 1e-4 or max(sizes) / min(sizes) > 1000.0)
        )
        self.left = self.right = 0
        if self.has_exponent:
            parts = [scientific(v, itemsize, self.precision) for v in finite]
            self.exponent = max((len(p[2]) for p in parts), default=3) - 1
            self.right = precision if mode == "fixed" else max((len(p[1]) for p in parts), default=0)
            self.fill = "0"
        elif finite:
            parts = [positional(v, itemsize, self.precision) for v in finite]
            self.right = precision if mode == "fixed" else max(len(p[1]) for p in parts)
            self.fill = "0" if mode in ("fixed", "maxprec_equal") else " "
        else:
            parts, self.fill = [], " "
        self.left = max((len(p[0]) for p in parts), default=0)
        if self.sign == " " and not any(_sign(v) for v in finite):
            self.left += 1 if parts else 0
        elif self.sign == "+":
            self.left = max((len(p[0].lstrip("-")) + 1 for p in parts), default=0)
        if len(finite) != len(values):
            special = [len(self._special(v)) for v in values if v not in finite or v != v]
            beyond = self.right + 1 + (self.exponent + 2 if self.has_exponent else 0)
            self.left = max(self.left, *(n - beyond for n in special))

    def _special(self, value):
        text = self.options["nanstr"] if value != value else self.options["infstr"]
        sign = "-" if value == float("-inf") else "+" if self.sign == "+" else ""
        return sign + text

    def __call__(self, value):
        if value != value or value in (float("inf"), float("-inf")):
            return self._special(value).rjust(self.left + self.right + 1 + (self.exponent + 2 if self.has_exponent else 0))
        if self.has_exponent:
            whole, fraction, exponent = scientific(value, self.itemsize, self.precision)
            if len(fraction) < self.right:
                # Beyond the shortest digits come those that the float has.
                mantissa, _, exponent = f"{abs(value):.{self.right}e}".partition("e")
                whole, fraction = _sign(value) + mantissa[0], mantissa[2:]
            tail = f"e{exponent[0]}{exponent[1:].rjust(self.exponent, '0')}"
        else:
            (whole, fraction), tail = positional(value, self.itemsize, self.precision), ""
            if self.fill == "0" and len(fraction) < self.right:
                fraction = f"{value:.{self.right}f}".partition(".")[2]
        if self.sign == "+" and whole[0] != "-":
            whole = "+" + whole
        return f"{whole.rjust(self.left)}.{fraction.ljust(self.right, self.fill)}{tail}"


class _Complex:
    """Complex numbers, of two floats."""

    def __init__(self, values, itemsize, options):
        self.real = _Floats([v.real for v in values], itemsize // 2, options)
        self.imag = _Floats([v.imag for v in values], itemsize // 2, options, "+")

    def __call__(self, value):
        imag = self.imag(value.imag)
        kept = imag.rstrip()
        return f"{self.real(value.real)}{kept}j{imag[len(kept):]}"


def _format_of(a, values, options):
    """What writes an element of an array, of which `values` are written."""
    own, kind = options["formatter"] or {}, a._dtype.kind
    named = {"b": ("bool",), "i": ("int", "int_kind"), "u": ("int", "int_kind"), "f": ("float", "float_kind"), "c": ("complexfloat", "complex_kind")}
    for name in (*named[kind], "all"):
        if own.get(name) is not None:
            from numpy._scalars import make

            return lambda value: own[name](make(value, a._dtype))
    if kind == "f":
        return _Floats(values, a._dtype.itemsize, options)
    if kind == "c":
        return _Complex(values, a._dtype.itemsize, options)
    if kind == "b":
        return lambda value: "False" if not value else " True" if a.ndim else "True"
    sign = options["sign"] == "+"
    texts = [f"{v:+d}" if sign else str(v) for v in values]
    width = max(map(len, texts), default=0)
    return lambda value: (f"{value:+d}" if sign else str(value)).rjust(width)


def _edges(t, edge):
    """The elements that are written of a tensor of which the middle is left out."""
    for d, size in enumerate(t.shape):
        if size > 2 * edge:
            t = torch.cat([t.narrow(d, 0, edge), t.narrow(d, size - edge, edge)], d)
    return t


def array2string(a, max_line_width=None, precision=None, suppress_small=None, separator=" ", prefix="", *, formatter=None, threshold=None,
                 edgeitems=None, sign=None, floatmode=None, suffix="", legacy=None):
    """An array as text."""
    given = dict(linewidth=max_line_width, precision=precision, suppress=suppress_small, formatter=formatter, threshold=threshold,
                 edgeitems=edgeitems, sign=sign, floatmode=floatmode)
    _check(given)
    options = {**_options, **{name: value for name, value in given.items() if value is not None}}
    from numpy._array import asarray

    a = asarray(a)
    if not a.size:
        return "[]"
    edge, t = options["edgeitems"], a._t
    is_cut = a.size > options["threshold"]
    shown = _edges(t, edge) if is_cut else t
    write = _format_of(a, shown.reshape(-1).tolist(), options)
    if a.ndim == 0:
        return write(t.item())
    lines = _Lines(write, options["linewidth"] - len(suffix), separator, edge if is_cut else None)
    return lines.of(shown.tolist(), a.shape, " " * (len(prefix) + 1), options["linewidth"] - len(suffix))


class _Lines:
    """Rows of elements, broken where they are too long."""

    def __init__(self, write, width, separator, edge):
        self.write, self.width, self.separator, self.edge = write, width, separator, edge

    def of(self, data, shape, indent, width):
        size, inner = shape[0], shape[1:]
        is_cut = self.edge is not None and size > 2 * self.edge
        parts = data if inner else [self.write(value) for value in data]
        if inner:
            parts = [self.of(part, inner, indent + " ", width - 1) for part in parts]
        at = self.edge if is_cut else None
        if inner:
            between = self.separator.rstrip() + "\n" * len(inner)
            texts = [part + between for part in parts[:-1]] + parts[-1:]
            if at is not None:
                texts.insert(at, "..." + between)
            return "[" + indent.join(texts) + "]"
        room = width - max(len(self.separator.rstrip()), 1)
        done, line = "", indent
        words = list(parts)
        if at is not None:
            words.insert(at, "...")
        for i, word in enumerate(words):
            if len(line) + len(word) > room and len(line) > len(indent):
                done += line.rstrip() + "\n"
                line = indent
            line += word + (self.separator if i + 1 < len(words) else "")
        return "[" + (done + line)[len(indent) :] + "]"


def array_str(a, max_line_width=None, precision=None, suppress_small=None):
    """`str` of an array."""
    from numpy._scalars import make

    if a.ndim == 0:
        return str(make(a._p.item(), a._dtype))
    return array2string(a, max_line_width, precision, suppress_small, " ", "")


def array_repr(a, max_line_width=None, precision=None, suppress_small=None):
    """`repr` of an array."""
    width = _options["linewidth"] if max_line_width is None else max_line_width
    text = array2string(a, width, precision, suppress_small, ", ", "array(", suffix=")")
    is_cut = a.size > _options["threshold"]
    extras = [f"shape={a.shape}"] if is_cut or a.size == 0 and a.shape != (0,) else []
    if a._dtype not in (_dtypes.BOOL, _dtypes.INT64, _dtypes.FLOAT64, _dtypes.COMPLEX128) or not a.size:
        extras.append(f"dtype={a._dtype.name}")
    if not extras:
        return f"array({text})"
    extra = ", ".join(extras) + ")"
    last = len("array(" + text) - ("array(" + text).rfind("\n") + 1
    spacer = "\n      " if last + len(extra) + 1 > width else " "
    return f"array({text},{spacer}{extra}"


def format_float_positional(x, precision=None, unique=True, fractional=True, trim="k", sign=False, pad_left=None, pad_right=None,
                            min_digits=None):
    """A float without exponent."""
    whole, fraction = positional(float(x), getattr(x, "itemsize", 8), precision)
    if trim == "k" and precision is not None and not unique:
        fraction = fraction.ljust(precision, "0")
    return f"{'+' if sign and whole[0] != '-' else ''}{whole}" + {"-": f".{fraction}" if fraction else "", "0": f".{fraction or '0'}"}.get(trim, f".{fraction}")
