"""`TranslationValidator`, `SympyToZ3`, `z3op` and `z3str` on what guards are made of."""

import sympy
import z3
from torch.fx.experimental import validator as v
from torch.fx.experimental.validator import SympyToZ3, TranslationValidator, ValidationException, z3op, z3str
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod
import operator, math, torch

s0, s1, s2 = sympy.symbols("s0 s1 s2", positive=True, integer=True)
t = TranslationValidator()
for s in (s0, s1, s2):
    print(t.add_var(s, int))
z0, z1, z2 = t.z3var(s0), t.z3var(s1), t.z3var(s2)
print(type(z0).__name__, type(z0 > 1).__name__)
for e in (z0 > 4, z0 < 4, z0 >= 4, z0 <= 4, z0 == 4, z0 != 4, z0 == z1, z0 != z1, z0 + z1 > 7, 2 * z0 + 3 == z1, z0 * z1 > z2, z0 - z1 >= 3, z3.And(z0 > 1, z1 > 2), z3.Or(z0 > 1, z1 == 2), z3.Not(z0 > 1), z0 * z0 == 4, z0 + z0 == z1, z1 > z0, -z0 < 3, z0 + 1 > 3, (z0 + z1) * 2 == 6):
    print(e, "|", z3str(e))
run = SympyToZ3(t).run
for e in (sympy.Gt(s0, 5), sympy.Eq(s1, 2 * s0), sympy.Ne(s1, s0), sympy.Le(s0 + s1, 7), sympy.Eq(FloorDiv(s0, 4), 2), sympy.Eq(Mod(s0, 4), 0), sympy.Eq(PythonMod(s0, s1), 1), sympy.Lt(s0 * s1, 100), sympy.And(sympy.Gt(s0, 1), sympy.Gt(s1, 3)), sympy.Or(sympy.Gt(s0, 1), sympy.Gt(s1, 3)), sympy.Not(sympy.Eq(s0, s1)), s0**2 > 9, sympy.Gt(sympy.Max(s0, s1), 3)):
    print(e, "|", run(e), "|", z3str(run(e)))
for op, args in ((operator.add, (z0, 1)), (operator.mul, (z0, z1)), (operator.floordiv, (z0, 4)), (operator.mod, (z0, 4)), (operator.eq, (z0, z1)), (operator.gt, (z0, 3)), (operator.not_, (z0 == 3,)), (torch.sym_not, (z0 == 3,)), (torch.sym_max, (z0, z1)), (torch.sym_min, (z0, 3)), (math.floor, (z0,)), (math.ceil, (z0,)), (operator.truediv, (z0, 4)), (operator.pow, (z0, 2)), (torch.sym_float, (z0,)), (torch.sym_ite, (z0 > 1, z0, z1)), (operator.sub, (z0, z1)), (operator.neg, (z0,))):
    r = z3op(op, t)(*args)
    print(op.__name__, "|", z3str(r))
print(sorted(map(z3str, t._assertions)), sorted(map(z3str, t._target_exprs)))
try:
    t.z3var(sympy.Symbol("q"))
except AssertionError as e:
    print("AssertionError", e)
try:
    t.add_target_expr(sympy.Gt(sympy.Symbol("q"), 3))
except AssertionError as e:
    print("AssertionError", e)
try:
    z3op(operator.add, t)(z0, "a")
except ValueError as e:
    print("ValueError", e)
try:
    t.add_var(sympy.Symbol("w"), str)
except RuntimeError as e:
    print("RuntimeError", e)
print(v.__all__)
