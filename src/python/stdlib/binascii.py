"""Bytes as text: hexadecimal and base 64, and their checksum."""

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUES = {c: i for i, c in enumerate(_ALPHABET)}


class Error(ValueError):
    """Text that stands for no bytes."""


class Incomplete(Exception):
    """Text that ends too early."""


def hexlify(data, *sep):
    return bytes(data).hex(*sep).encode("ascii")


def unhexlify(text):
    text = text if isinstance(text, str) else bytes(text).decode("ascii", "replace")
    if len(text) % 2:
        raise Error("Odd-length string")
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise Error("Non-hexadecimal digit found") from None


b2a_hex, a2b_hex = hexlify, unhexlify


def b2a_base64(data, *, newline=True):
    data, out = bytes(data), bytearray()
    for i in range(0, len(data), 3):
        group = data[i : i + 3]
        bits = int.from_bytes(group.ljust(3, b"\0"), "big")
        letters = bytes(_ALPHABET[bits >> shift & 63] for shift in (18, 12, 6, 0))
        out += letters[: len(group) + 1].ljust(4, b"=")
    return bytes(out) + (b"\n" if newline else b"")


def a2b_base64(text, /, *, strict_mode=False):
    text = text.encode("ascii") if isinstance(text, str) else bytes(text)
    values = []
    for c in text:
        if c in _VALUES:
            values.append(_VALUES[c])
        elif strict_mode and c != ord("="):
            raise Error("Only base64 data is allowed")
    padding = text.count(b"=")
    if len(values) % 4 == 1:
        raise Error(
            f"Invalid base64-encoded string: number of data characters ({len(values)}) cannot be 1 more than a multiple of 4"
        )
    if (len(values) + padding) % 4:
        raise Error("Incorrect padding")
    out = bytearray()
    for i in range(0, len(values), 4):
        group = values[i : i + 4]
        bits = 0
        for value in group + [0] * (4 - len(group)):
            bits = bits << 6 | value
        out += bits.to_bytes(3, "big")[: len(group) - 1]
    return bytes(out)


def crc32(data, value=0):
    """A checksum by a polynomial. Source: ISO 3309."""
    crc = value ^ 0xFFFFFFFF
    for byte in bytes(data):
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
