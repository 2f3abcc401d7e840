"""Base 64, 32 and 16."""

import binascii


def _bytes(s):
    return s.encode("ascii") if isinstance(s, str) else bytes(s)


def b64encode(s, altchars=None):
    encoded = binascii.b2a_base64(s, newline=False)
    return encoded.translate(bytes.maketrans(b"+/", altchars)) if altchars is not None else encoded


def b64decode(s, altchars=None, validate=False):
    s = _bytes(s)
    if altchars is not None:
        s = s.translate(bytes.maketrans(_bytes(altchars), b"+/"))
    return binascii.a2b_base64(s, strict_mode=validate)


def standard_b64encode(s):
    return b64encode(s)


def standard_b64decode(s):
    return b64decode(s)


def urlsafe_b64encode(s):
    return b64encode(s, b"-_")


def urlsafe_b64decode(s):
    return b64decode(s, b"-_")


def b16encode(s):
    return binascii.hexlify(s).upper()


def b16decode(s, casefold=False):
    return binascii.unhexlify(_bytes(s).lower() if casefold else _bytes(s))


def encodebytes(s):
    return b"".join(binascii.b2a_base64(s[i : i + 57]) for i in range(0, len(s), 57))


decodebytes = b64decode
