"""z3 as scripts use it beside the validator: expressions, `simplify`, a solver and its models."""

import z3

x, y, z = z3.Ints("x y z")
p, q = z3.Bools("p q")
for e in (
    x + 2 * y - 3, x * (y + 1), -x, x / 4, x % 4, x**2, x != y, z3.And(x > 1, y < 2), z3.Or(p, z3.Not(q)), z3.Implies(p, x > 2),
    z3.If(x > y, x, y), 3 <= x, 3 - x <= y, 2 * x == 6, 2 * x == 7, x - y == 0, x == y + 1, x + y - y == 3, x * y == y * x, z3.IntVal(7) >= 2 * x,
):  # fmt: skip
    print(e, "|", e.sexpr(), "|", z3.simplify(e), "|", type(e).__name__, e.num_args())
s = z3.Solver()
s.add(x > 3, x < 5, y == x * 2)
print(s.check(), s.model()[x], s.model()[y], s.model().eval(x + y), s)
s.push()
s.add(y > 9)
print(s.check(), s.check() == z3.unsat)
s.pop()
print(s.check(), len(s.assertions()))
for conditions in (
    [x > 0, x * x < 2], [x * y == 35, x > 1, y > x], [z3.Or(x == 2, x == 9), x % 3 == 0], [p, z3.Implies(p, q), z3.Not(q)],
    [x >= 2, y >= 2, x * y < x + y], [x / 3 == 4, x % 3 == 2], [z3.ToReal(x) / 2 > 3, x < 8],
):  # fmt: skip
    s = z3.Solver()
    s.add(*conditions)
    found = s.check()
    print(found, sorted((str(d), s.model()[d]) for d in s.model()) if found == z3.sat else "")
z3.prove(z3.Implies(z3.And(x > 3, y > x), y > 4))
z3.solve(x > 3, x < 5)
z3.solve(x > 3, x < 4)
try:
    bool(x > 3)
except z3.Z3Exception as e:
    print("Z3Exception", e)
print(bool(x == x), bool(x == y), x.eq(z3.Int("x")), z3.is_expr(3), z3.is_int_value(z3.IntVal(3)), z3.is_true(z3.BoolVal(True)))
