"""Functions of sizes, as PyTorch's guards print them."""

import sympy
from sympy import Function, Max, Min, S
from sympy._expressions import Number, _number

__all__ = ["FloorDiv", "CleanDiv", "CeilDiv", "Mod", "PythonMod", "PowByNatural", "IntTrueDiv", "Max", "Min", "ToFloat", "FloorToInt", "CeilToInt", "TruncToInt"]


def _numbers(*args):
    return all(isinstance(arg, Number) for arg in args)


class FloorDiv(Function):
    """Python's `a // b`."""

    @classmethod
    def eval(cls, base, divisor):
        if divisor == S.Zero:
            raise ZeroDivisionError("division by zero")
        if _numbers(base, divisor):
            return _number(base._value // divisor._value) if base.is_integer else None
        if base == S.Zero:
            return S.Zero
        if divisor == S.One:
            return base
        if base == divisor:
            return S.One
        exact = sympy.Mul(base, sympy.Pow(divisor, -1))
        is_exact = isinstance(exact, sympy.Integer) or exact.is_integer
        return exact if is_exact else None

    @property
    def base(self):
        return self._args[0]

    @property
    def divisor(self):
        return self._args[1]

    is_integer = True
    _binds = 3

    def _least(self):
        return 0 if self._args[0].is_nonnegative and self._args[1].is_positive else None

    def _printed(self):
        return f"({self.base._within(6)}//{self.divisor._within(6)})"


class CleanDiv(FloorDiv):
    """A quotient that leaves nothing."""


def CeilDiv(base, divisor):
    """A quotient, rounded up."""
    return FloorDiv(sympy.Add(sympy.sympify(base), sympy.sympify(divisor) - 1), divisor)


class PythonMod(Function):
    """Python's `a % b`."""

    is_integer = True

    @classmethod
    def eval(cls, a, b):
        if b == S.Zero:
            raise ZeroDivisionError("Modulo by zero")
        if _numbers(a, b):
            return _number(a._value % b._value)
        if a == S.Zero or a == b or b == S.One:
            return S.Zero
        exact = sympy.Mul(a, sympy.Pow(b, -1))
        return S.Zero if exact.is_integer else None

    def _least(self):
        return 0 if self._args[1].is_positive else None


class Mod(PythonMod):
    """The same, where neither is negative."""

    def _least(self):
        return 0


class PowByNatural(Function):
    """A power by what is not negative."""

    is_integer = True

    @classmethod
    def eval(cls, base, exp):
        return sympy.Pow(base, exp) if isinstance(exp, sympy.Integer) else None


class IntTrueDiv(Function):
    """Python's `a / b` of integers."""

    is_integer = None

    def _printed(self):
        return f"IntTrueDiv({self._args[0]}, {self._args[1]})"


class ToFloat(Function):
    """An integer as a float."""

    is_integer = None


class FloorToInt(Function):
    """A float, rounded down."""

    is_integer = True


class CeilToInt(Function):
    """A float, rounded up."""

    is_integer = True


class TruncToInt(Function):
    """A float, rounded towards zero."""

    is_integer = True
