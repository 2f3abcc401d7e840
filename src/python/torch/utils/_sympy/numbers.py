"""An infinite integer, as bounds of sizes have it."""


class IntInfinity:
    """Larger, or where it is negative smaller, than every integer."""

    def __init__(self, sign):
        self._sign = sign

    def __neg__(self):
        return int_oo if self._sign < 0 else _NEGATIVE

    def __repr__(self):
        return "int_oo" if self._sign > 0 else "-int_oo"

    def __eq__(self, other):
        return isinstance(other, IntInfinity) and other._sign == self._sign or other == self._sign * float("inf")

    def __hash__(self):
        return hash(self._sign * float("inf"))

    def __lt__(self, other):
        return self._sign < 0 and self != other

    def __gt__(self, other):
        return self._sign > 0 and self != other

    def __le__(self, other):
        return self._sign < 0 or self == other

    def __ge__(self, other):
        return self._sign > 0 or self == other


int_oo = IntInfinity(1)
_NEGATIVE = IntInfinity(-1)

__all__ = ["IntInfinity", "int_oo"]
