"""What `TranslationValidator` says of targets that allow more than the source: one value is left in each, so that it is the counterexample."""

import sympy
import torch
from torch.fx.experimental.validator import TranslationValidator, ValidationException
from torch.utils._sympy.functions import FloorDiv, Mod

a, b = sympy.symbols("a b", positive=True, integer=True)


def run(source, target, assertions=()):
    validator = TranslationValidator()
    for symbol in (a, b):
        validator.add_var(symbol, int)
    for condition in source:
        validator.add_source_expr(validator.to_z3_boolean_expr(condition))
    for condition in target:
        validator.add_target_expr(condition)
    for condition in assertions:
        validator.add_assertion(condition)
    try:
        validator.validate()
        print("sound")
    except ValidationException as e:
        print(e)
        print(isinstance(e, torch._dynamo.exc.TorchDynamoException), e.msg)


run([sympy.Gt(a, 4)], [sympy.Gt(a, 5)])
run([sympy.Gt(a, 4)], [sympy.Eq(a, 3), sympy.Eq(b, 2)])
run([sympy.Eq(a, 4), sympy.Ne(b, a)], [sympy.Ge(a, 4), sympy.Lt(a, 6), sympy.Ne(a, 4), sympy.Eq(b, 7)])
run([], [sympy.Eq(a, 3)])
run([sympy.Gt(a, 3)], [])
run([sympy.Gt(a + b, 4)], [sympy.Eq(a, 1)], [sympy.Eq(b, 2)])
run([sympy.Eq(Mod(a, 4), 0)], [sympy.Eq(Mod(a, 8), 0)])
run([sympy.Eq(Mod(a, 8), 0), sympy.Lt(b, 3)], [sympy.Eq(Mod(a, 4), 0), sympy.Lt(a, 8), sympy.Eq(b, 1)])
run([sympy.Ge(a, 8)], [sympy.Ge(FloorDiv(a, 4), 2)])
run([sympy.Ne(FloorDiv(a, 4), 1)], [sympy.Eq(a, 6), sympy.Eq(b, 2 * a)])
run([sympy.Gt(a * b, 5)], [sympy.Gt(a, 2), sympy.Gt(b, 1)])
run([sympy.Lt(a * b, 20)], [sympy.Eq(a, b), sympy.Gt(a, 4), sympy.Le(b, 5)])
run([sympy.Or(sympy.Gt(a, 4), sympy.Lt(a, 2))], [sympy.Eq(a + b, 5), sympy.Ge(b, 4)])
