"""sympy as scripts use it beside guards: symbols with assumptions, sizes, relations and conditions."""

import sympy
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod

a, b = sympy.symbols("a b", positive=True, integer=True)
n = sympy.Symbol("n", integer=True)
print(a + b, b + a, 2 * a + 3, a - b, b - a, 5 - a, a * b, 2 * (a + b), a * (b + 1), a**2 + a + 1, a / 2, -a, (a + b) ** 2, a + a, a - a)
print(sympy.expand((a + b) ** 2), ((a + 1) * b).expand(), (a + b).subs(a, 3), (a * b).subs({a: 2, b: 5}), (a + b).free_symbols == {a, b})
print(a > 0, n > 0, a >= 1, a < 0, sympy.Eq(a, 0), sympy.Ne(a, 0), sympy.Eq(a, b), sympy.Gt(a, 4), a + 1 > a, sympy.Eq(a, a), sympy.Le(a * b, 0))
print(sympy.Not(sympy.Gt(n, 3)), sympy.Not(sympy.Eq(a, b)), sympy.And(n > 1, a < b), sympy.Or(n > 1, sympy.true), sympy.And(n > 1, sympy.false))
print(sympy.Max(a, b), sympy.Max(a, 1), sympy.Min(n, 3), sympy.Max(a, 1, 4), sympy.Mod(n, 3), sympy.Mod(7, 3), sympy.floor(n), sympy.Abs(a))
print(FloorDiv(a, 4), FloorDiv(8 * a, 4), FloorDiv(9, 4), Mod(a, 4), Mod(8 * a, 4), PythonMod(n, 5), FloorDiv(a, a), FloorDiv(a + b, 2), 2 * FloorDiv(a, 2))
print(a.is_positive, n.is_positive, (a + b).is_positive, (a - b).is_positive, (a * b).is_positive, sympy.Integer(3).is_positive, a.is_integer, (-a).is_negative)
print(sympy.Integer(3) + 4, sympy.Rational(1, 2) + 1, sympy.Float(0.5), sympy.S.One, sympy.oo, sympy.sympify(3), int(sympy.Integer(7)), sympy.Integer(2) ** 5)
print(type(sympy.Eq(a, b)).__name__, (a > b).args, (a + b).args, (2 * a).args, (a > 4).lhs, (a > 4).rhs, (a > 4).rel_op, isinstance(a > 4, sympy.Gt), a == sympy.Symbol("a"))
try:
    bool(n > 3)
except TypeError as e:
    print("TypeError", e)
