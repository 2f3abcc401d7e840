"""The part of sympy that scripts write sizes and guards with: symbols with assumptions, sums, products, powers, quotients, relations and
conditions, printed as sympy prints them. There is no calculus and no solver."""

from sympy._conditions import (
    And, Boolean, BooleanAtom, Eq, Equality, Ge, Gt, Le, Lt, Ne, Not, Or, Rel, Relational, StrictGreaterThan, StrictLessThan, GreaterThan, LessThan,
    Unequality, false, true,
)  # fmt: skip
from sympy._expressions import Add, Basic, Dummy, Expr, Float, Integer, Mul, Number, Pow, Rational, S, Symbol, nan, oo, symbols, sympify
from sympy._functions import Abs, Function, Max, Min, Mod, ceiling, floor


def expand(e, **hints):
    """Products of sums as sums of products."""
    return sympify(e)._rebuilt(lambda part: part._expanded())


def simplify(e, **options):
    """The expression, multiplied out: no more is known here."""
    return expand(e)


def gcd(a, b):
    """The greatest common divisor of two integers."""
    import math

    return Integer(math.gcd(int(a), int(b)))


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"sympy.{name} is not available in the playground, which has sympy's expressions and conditions of sizes alone")
