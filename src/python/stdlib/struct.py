"""Numbers as bytes: `pack`, `unpack` and what belongs to them, for the formats that numbers and strings have."""

import math

__all__ = ["calcsize", "pack", "pack_into", "unpack", "unpack_from", "iter_unpack", "Struct", "error"]

_INTEGERS = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "l": 4, "L": 4, "q": 8, "Q": 8, "n": 8, "N": 8, "P": 8}
_FLOATS = {"e": (2, 5), "f": (4, 8), "d": (8, 11)}


class error(Exception):
    """A format or value that does not fit."""


def _parse(format):
    if isinstance(format, (bytes, bytearray)):
        format = bytes(format).decode("ascii")
    mode = "@"
    if format[:1] in tuple("@=<>!"):
        mode, format = format[0], format[1:]
    items, count = [], ""
    for char in format:
        if char.isdigit():
            count += char
        elif not char.isspace():
            if char not in _INTEGERS and char not in _FLOATS and char not in "xcs?p":
                raise error("bad char in struct format")
            items.append((int(count) if count else 1, char))
            count = ""
    return "big" if mode in ">!" else "little", mode == "@", items


def _size(char, native):
    if char in _FLOATS:
        return _FLOATS[char][0]
    return 8 if native and char in "lL" else _INTEGERS.get(char, 1)


def _float_to_int(value, size, exponent_bits):
    mantissa_bits = size * 8 - 1 - exponent_bits
    bias = (1 << (exponent_bits - 1)) - 1
    sign = 1 if math.copysign(1.0, value) < 0 else 0
    value = abs(value)
    if math.isnan(value):
        exponent, mantissa = (1 << exponent_bits) - 1, 1 << (mantissa_bits - 1)
    elif math.isinf(value):
        exponent, mantissa = (1 << exponent_bits) - 1, 0
    elif value == 0:
        exponent = mantissa = 0
    else:
        fraction, exponent = math.frexp(value)
        exponent += bias - 1
        scale = mantissa_bits + 1 if exponent > 0 else mantissa_bits + exponent
        mantissa = round(math.ldexp(fraction, scale)) if scale >= 0 else 0
        if exponent > 0:
            if mantissa >> (mantissa_bits + 1):
                exponent, mantissa = exponent + 1, mantissa >> 1
            mantissa -= 1 << mantissa_bits
        else:
            exponent = mantissa >> mantissa_bits
            mantissa &= (1 << mantissa_bits) - 1
        if exponent >= (1 << exponent_bits) - 1:
            raise OverflowError("float too large to pack")
    return sign << (size * 8 - 1) | exponent << mantissa_bits | mantissa


def _int_to_float(bits, size, exponent_bits):
    mantissa_bits = size * 8 - 1 - exponent_bits
    sign = -1.0 if bits >> (size * 8 - 1) else 1.0
    exponent = bits >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = bits & (1 << mantissa_bits) - 1
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == (1 << exponent_bits) - 1:
        return sign * (math.nan if mantissa else math.inf)
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp(mantissa | 1 << mantissa_bits, exponent - bias - mantissa_bits)


class Struct:
    """A parsed format."""

    def __init__(self, format):
        self.format = format
        self._order, self._native, self._items = _parse(format)
        self._places = []
        at = 0
        for count, char in self._items:
            size = _size(char, self._native)
            if self._native and char not in "xcs?p":
                at += -at % size
            self._places.append(at)
            at += count * size
        self.size = at

    def _expected(self):
        return sum(1 if char in "sp" else 0 if char == "x" else count for count, char in self._items)

    def pack(self, *values):
        if len(values) != self._expected():
            raise error(f"pack expected {self._expected()} items for packing (got {len(values)})")
        out, values = bytearray(self.size), iter(values)
        for at, (count, char) in zip(self._places, self._items):
            size = _size(char, self._native)
            if char == "s":
                text = bytes(next(values))[:count]
                out[at : at + len(text)] = text
                continue
            for i in range(0 if char == "x" else count):
                value = next(values)
                if char == "c":
                    data = bytes(value)
                elif char == "?":
                    data = b"\x01" if value else b"\x00"
                elif char in _FLOATS:
                    data = _float_to_int(float(value), *_FLOATS[char]).to_bytes(size, self._order)
                else:
                    try:
                        data = value.__index__().to_bytes(size, self._order, signed=char in "bhilqn")
                    except OverflowError:
                        raise error(f"'{char}' format requires a number in range") from None
                    except AttributeError:
                        raise error("required argument is not an integer") from None
                out[at + i * size : at + (i + 1) * size] = data
        return bytes(out)

    def unpack(self, buffer):
        if len(buffer) != self.size:
            raise error(f"unpack requires a buffer of {self.size} bytes")
        return self.unpack_from(buffer)

    def unpack_from(self, buffer, offset=0):
        buffer, found = bytes(buffer)[offset : offset + self.size], []
        if len(buffer) < self.size:
            raise error(f"unpack_from requires a buffer of at least {offset + self.size} bytes")
        for at, (count, char) in zip(self._places, self._items):
            size = _size(char, self._native)
            if char == "s":
                found.append(buffer[at : at + count])
                continue
            for i in range(0 if char == "x" else count):
                data = buffer[at + i * size : at + (i + 1) * size]
                if char == "c":
                    found.append(data)
                elif char == "?":
                    found.append(data != b"\x00")
                elif char in _FLOATS:
                    found.append(_int_to_float(int.from_bytes(data, self._order), *_FLOATS[char]))
                else:
                    found.append(int.from_bytes(data, self._order, signed=char in "bhilqn"))
        return tuple(found)

    def pack_into(self, buffer, offset, *values):
        buffer[offset : offset + self.size] = self.pack(*values)

    def iter_unpack(self, buffer):
        return (self.unpack_from(buffer, at) for at in range(0, len(buffer), self.size))


def calcsize(format):
    """How many bytes a format takes."""
    return Struct(format).size


def pack(format, *values):
    """Values as bytes."""
    return Struct(format).pack(*values)


def unpack(format, buffer):
    """Bytes as values."""
    return Struct(format).unpack(buffer)


def unpack_from(format, buffer, offset=0):
    """Bytes from a place on as values."""
    return Struct(format).unpack_from(buffer, offset)


def pack_into(format, buffer, offset, *values):
    """Writes values into a buffer."""
    Struct(format).pack_into(buffer, offset, *values)


def iter_unpack(format, buffer):
    """Bytes as values, again and again."""
    return Struct(format).iter_unpack(buffer)
