"""The smallest and the largest value of a number."""

from dataclasses import dataclass

from torch.utils._sympy.numbers import int_oo


@dataclass(frozen=True)
class ValueRanges:
    """The smallest and the largest value of a symbol."""

    lower: object
    upper: object

    def __repr__(self):
        return f"VR[{self.lower}, {self.upper}]"

    def __contains__(self, value):
        return self.lower <= value and value <= self.upper

    def __and__(self, other):
        lower = self.lower if self.lower > other.lower else other.lower
        return ValueRanges(lower, self.upper if self.upper < other.upper else other.upper)

    def issubset(self, other):
        """Whether another range has all of its values."""
        return other.lower <= self.lower and self.upper <= other.upper

    def is_singleton(self):
        """Whether there is one value."""
        return self.lower == self.upper

    @staticmethod
    def unknown_int():
        """All integers."""
        return ValueRanges(-int_oo, int_oo)


__all__ = ["ValueRanges"]
