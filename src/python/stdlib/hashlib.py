"""Digests: SHA-2 natively, MD5 and SHA-1 here, since scripts take names and keys from them."""

import math

from _sha2 import sha256, sha512

# Rotations and sums of MD5. Source: RFC 1321.
_S = [7, 12, 17, 22] * 4 + [5, 9, 14, 20] * 4 + [4, 11, 16, 23] * 4 + [6, 10, 15, 21] * 4
_K = [int(abs(math.sin(i + 1)) * 2**32) & 0xFFFFFFFF for i in range(64)]


def _rotated(x, n):
    return (x << n | x >> (32 - n)) & 0xFFFFFFFF


class _Digest:
    """What was hashed so far is kept, and hashed when a digest is asked for."""

    block_size = 64

    def __init__(self, data=b"", *, usedforsecurity=True):
        self._data = bytes(data)

    def update(self, data):
        self._data += bytes(data)

    def copy(self):
        return type(self)(self._data)

    def digest(self):
        length = len(self._data) * 8
        padded = self._data + b"\x80"
        padded += b"\0" * ((56 - len(padded)) % 64) + length.to_bytes(8, self._order)
        state = list(self._start)
        for i in range(0, len(padded), 64):
            words = [int.from_bytes(padded[j : j + 4], self._order) for j in range(i, i + 64, 4)]
            state = [(a + b) & 0xFFFFFFFF for a, b in zip(state, self._mixed(state, words))]
        return b"".join(word.to_bytes(4, self._order) for word in state)

    def hexdigest(self):
        return self.digest().hex()


class md5(_Digest):
    """MD5. Source: RFC 1321."""

    name, digest_size, _order = "md5", 16, "little"
    _start = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)

    def _mixed(self, state, words):
        a, b, c, d = state
        for i in range(64):
            if i < 16:
                f, g = b & c | ~b & d, i
            elif i < 32:
                f, g = d & b | ~d & c, (5 * i + 1) % 16
            elif i < 48:
                f, g = b ^ c ^ d, (3 * i + 5) % 16
            else:
                f, g = c ^ (b | ~d & 0xFFFFFFFF), 7 * i % 16
            f = (f + a + _K[i] + words[g]) & 0xFFFFFFFF
            a, d, c, b = d, c, b, (b + _rotated(f, _S[i])) & 0xFFFFFFFF
        return a, b, c, d


class sha1(_Digest):
    """SHA-1. Source: FIPS 180-4."""

    name, digest_size, _order = "sha1", 20, "big"
    _start = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)

    def _mixed(self, state, words):
        words = list(words)
        for i in range(16, 80):
            words.append(_rotated(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1))
        a, b, c, d, e = state
        for i, word in enumerate(words):
            if i < 20:
                f, k = b & c | ~b & d, 0x5A827999
            elif i < 40:
                f, k = b ^ c ^ d, 0x6ED9EBA1
            elif i < 60:
                f, k = b & c | b & d | c & d, 0x8F1BBCDC
            else:
                f, k = b ^ c ^ d, 0xCA62C1D6
            a, b, c, d, e = (_rotated(a, 5) + f + e + k + word) & 0xFFFFFFFF, a, _rotated(b, 30), c, d
        return a, b, c, d, e


_KNOWN = {"md5": md5, "sha1": sha1, "sha256": sha256, "sha512": sha512}
algorithms_available = algorithms_guaranteed = set(_KNOWN)


def new(name, data=b"", **kwargs):
    if name.lower() not in _KNOWN:
        raise ValueError(f"unsupported hash type {name}")
    return _KNOWN[name.lower()](data)
