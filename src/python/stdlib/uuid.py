"""Identifiers of 128 bits: random ones and those of names."""

from os import urandom

_int = int


class UUID:
    """One identifier."""

    def __init__(self, hex=None, bytes=None, int=None, version=None):
        if hex is not None:
            hex = hex.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "")
            if len(hex) != 32:
                raise ValueError("badly formed hexadecimal UUID string")
            int = _int(hex, 16)
        elif bytes is not None:
            int = _int.from_bytes(bytes, "big")
        if version is not None:
            int = int & ~(0xC000 << 48) | 0x8000 << 48
            int = int & ~(0xF000 << 64) | version << 76
        self.int = int

    hex = property(lambda self: f"{self.int:032x}")
    bytes = property(lambda self: self.int.to_bytes(16, "big"))
    version = property(lambda self: self.int >> 76 & 0xF)

    def __str__(self):
        h = self.hex
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"

    def __repr__(self):
        return f"UUID({str(self)!r})"

    def __eq__(self, other):
        return isinstance(other, UUID) and self.int == other.int

    def __lt__(self, other):
        return self.int < other.int if isinstance(other, UUID) else NotImplemented

    def __hash__(self):
        return hash(self.int)

    def __int__(self):
        return self.int


def uuid4():
    return UUID(bytes=urandom(16), version=4)


def _named(namespace, name, digest, version):
    data = namespace.bytes + (name.encode() if isinstance(name, str) else name)
    return UUID(bytes=digest(data).digest()[:16], version=version)


def uuid3(namespace, name):
    from hashlib import md5

    return _named(namespace, name, md5, 3)


def uuid5(namespace, name):
    from hashlib import sha1

    return _named(namespace, name, sha1, 5)


NAMESPACE_DNS = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
NAMESPACE_URL = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
