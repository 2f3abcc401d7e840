"""Translation validation: guards as expressions of z3, and whether those that run imply those that tracing asked for.

Compiled graphs are validated natively, on what their traces asked for; this module is what scripts use by hand. PyTorch finds values with
z3, the playground with a procedure of its own: a counterexample is one here, too, but may have other sizes."""

import builtins
import math
import operator

import sympy
import torch
import z3
from torch._dynamo.exc import TorchDynamoException
from torch.fx.experimental import _config as config
from torch.utils._sympy import functions

__all__ = [
    "z3str", "z3op", "PopulateValidator", "SympyToZ3", "TranslationValidator", "translation_validation_enabled",
    "translation_validation_timeout", "ValidationException", "BisectValidationException",
]  # fmt: skip

_HAS_Z3 = True
_OPPOSITES = {z3.Z3_OP_EQ: "!=", z3.Z3_OP_LE: ">", z3.Z3_OP_GE: "<"}


def z3str(e):
    """An expression in its simple form, operator first; between integers and reals nothing is said to change."""
    if not z3.is_expr(e):
        raise AssertionError(f"unsupported expression type: {e}")
    return _text(z3.simplify(e))


def _text(e):
    if z3.is_int_value(e) or z3.is_rational_value(e):
        return e.as_string()
    kind, name, args = e.decl().kind(), str(e.decl()), e.children()
    if kind == z3.Z3_OP_UNINTERPRETED:
        return name
    if kind in (z3.Z3_OP_TO_INT, z3.Z3_OP_TO_REAL):
        inner = _text(args[0])
        return "(idiv" + inner[2:] if inner.startswith("(/") else inner
    if kind == z3.Z3_OP_NOT and args[0].decl().kind() in _OPPOSITES:
        name, args = _OPPOSITES[args[0].decl().kind()], args[0].children()
    elif kind == z3.Z3_OP_POWER:
        name = "pow"
    return f"({' '.join([name, *map(_text, args)])})"


def translation_validation_enabled():
    """Whether graphs are validated."""
    return config.translation_validation


def translation_validation_timeout():
    """How many milliseconds PyTorch gives z3; the playground's procedure counts its steps."""
    return config.translation_validation_timeout


class _Operations:
    """Python's operators on expressions of z3; what they rely on is asserted."""

    def __init__(self, validator):
        self.validator = validator

    @staticmethod
    def to_real(x):
        return x if x.is_real() else z3.ToReal(x)

    @staticmethod
    def floor(x):
        return x if x.is_int() else z3.ToInt(x)

    def div(self, a, b):
        self.validator.add_assertion(b != 0)
        return self.to_real(a) / self.to_real(b)

    def floordiv(self, a, b):
        quotient = z3.ToInt(self.div(a, b))
        return z3.ToReal(quotient) if a.is_real() or b.is_real() else quotient

    def mod(self, a, b):
        return a - self.floordiv(a, b) * b

    def ceil(self, x):
        return z3.If(self.floor(x) < x, self.floor(x + 1), x)

    def trunc(self, x):
        return z3.If(x >= 0, self.floor(x), self.ceil(x))

    def pow(self, base, power):
        self.validator.add_assertion(z3.Or(base != 0, power > 0))
        return base**power

    @staticmethod
    def max(a, b):
        return z3.If(a > b, a, b)

    @staticmethod
    def min(a, b):
        return z3.If(a < b, a, b)


def _no_bits(name):
    def refuse(*_args):
        raise NotImplementedError(f"{name} of expressions of z3: the playground's z3 has no bit vectors")

    return refuse


def _both(condition, name):
    def both(a, b):
        return condition(a, b) if z3.is_bool(a) and z3.is_bool(b) else _no_bits(name)(a, b)

    return both


def _lifted(value, as_truth=False):
    if isinstance(value, (z3.ArithRef, z3.BoolRef)):
        return value
    if type(value) is bool or as_truth and isinstance(value, int):
        return z3.BoolVal(bool(value))
    if isinstance(value, (int, sympy.Integer)):
        return z3.IntVal(int(value))
    if isinstance(value, (float, sympy.Float)):
        return z3.RealVal(float(value))
    raise ValueError(f"can't lift type: {type(value)}")


def z3op(op, validator):
    """The function that does with expressions of z3 what `op` does with numbers."""
    if op is torch._assert:
        return op
    of = _Operations(validator)
    replacements = {
        operator.not_: z3.Not,
        torch.sym_not: z3.Not,
        operator.and_: _both(z3.And, "and"),
        operator.or_: _both(z3.Or, "or"),
        operator.lshift: _no_bits("lshift"),
        operator.rshift: _no_bits("rshift"),
        operator.floordiv: of.floordiv,
        operator.truediv: of.div,
        operator.mod: of.mod,
        operator.abs: z3.Abs,
        builtins.round: _no_bits("round"),
        math.ceil: of.ceil,
        math.floor: of.floor,
        math.trunc: of.trunc,
        torch.sym_float: of.to_real,
        torch.sym_max: of.max,
        torch.sym_min: of.min,
        torch.sym_sum: sum,
        torch.sym_ite: z3.If,
    }
    function = replacements.get(op, op)
    as_truth = op in (operator.not_, torch.sym_not)

    def lifted(*args):
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            return function(tuple(_lifted(arg, as_truth) for arg in args[0]))
        return function(*(_lifted(arg, as_truth) for arg in args))

    lifted.__name__ = getattr(op, "__name__", "lifted")
    return lifted


class PopulateValidator(torch.fx.Interpreter):
    """Runs a graph of conditions on expressions of z3: what it asserts becomes the source."""

    def __init__(self, graph, validator):
        super().__init__(torch.fx.GraphModule({}, graph))
        self.validator = validator

    def run_node(self, n):
        if n.op == "placeholder":
            return self.validator.z3var(n.meta["symbol"])
        return super().run_node(n)

    def call_function(self, target, args, kwargs):
        if target is not torch._assert:
            return super().call_function(z3op(target, self.validator), args, kwargs)
        if len(args) != 1:
            raise AssertionError(f"expected 1 argument on assertion. Got: {len(args)} ")
        self.validator.add_source_expr(args[0])


class SympyToZ3:
    """Expressions of sympy as those of z3."""

    def __init__(self, validator):
        self._validator = validator
        self._operations = _Operations(validator)

    def run(self, expr):
        """The expression, whose symbols the validator knows."""
        if isinstance(expr, sympy.Symbol):
            return self._validator.symbols[expr]
        if isinstance(expr, sympy.BooleanAtom):
            return z3.BoolVal(bool(expr))
        if isinstance(expr, sympy.Integer):
            return z3.IntVal(int(expr))
        if isinstance(expr, sympy.Number):
            return z3.RealVal(expr._value)
        args = list(map(self.run, expr.args))
        of = self._operations
        if isinstance(expr, sympy.Pow):
            base, power = args
            if z3.is_int_value(power) and power.as_long() == -1:
                return of.div(z3.IntVal(1), base)
            return of.pow(base, power)
        for classes, function in (
            (sympy.Add, operator.add),
            (sympy.Mul, operator.mul),
            (sympy.Eq, operator.eq),
            (sympy.Ne, operator.ne),
            (sympy.Gt, operator.gt),
            (sympy.Ge, operator.ge),
            (sympy.Lt, operator.lt),
            (sympy.Le, operator.le),
            (functions.FloorDiv, of.floordiv),
            ((functions.PythonMod, sympy.Mod), of.mod),
            (functions.IntTrueDiv, of.div),
            (functions.ToFloat, of.to_real),
            (functions.FloorToInt, of.floor),
            (functions.CeilToInt, of.ceil),
            (functions.TruncToInt, z3.ToInt),
            (functions.PowByNatural, of.pow),
            (sympy.floor, of.floor),
            (sympy.ceiling, of.ceil),
            (sympy.Max, of.max),
            (sympy.Min, of.min),
            (sympy.Abs, z3.Abs),
        ):
            if isinstance(expr, classes):
                result = args[0] if len(args) > 1 else function(*args)
                for arg in args[1:]:
                    result = function(result, arg)
                return result
        for cls, function in ((sympy.And, z3.And), (sympy.Or, z3.Or), (sympy.Not, z3.Not)):
            if isinstance(expr, cls):
                return function(*args)
        raise NotImplementedError(f"{type(expr).__name__}: the playground has no expression of z3 for it")


class TranslationValidator:
    """Conditions that tracing asked for (the source), guards that run (the target), and what holds of both."""

    def __init__(self):
        self.symbols = {}
        self._source_exprs = set()
        self._target_exprs = set()
        self._assertions = set()

    def z3var(self, symbol):
        """The variable of a symbol."""
        if symbol not in self.symbols:
            raise AssertionError(f"Z3 variable not found for: {symbol}")
        return self.symbols[symbol]

    def add_var(self, symbol, type):
        """A variable for a symbol: above zero, where the symbol is."""
        if symbol in self.symbols:
            return self.symbols[symbol]
        if type not in (int, float, bool):
            raise RuntimeError(f"unsupported type for Z3 variable: {type}")
        var = {int: z3.Int, float: z3.Real, bool: z3.Bool}[type](symbol.name)
        if type is int and symbol.is_positive:
            self._target_exprs.add(var > 0)
        self.symbols[symbol] = var
        return var

    def _check_freesymbols(self, e):
        for symbol in e.free_symbols:
            self.z3var(symbol)

    def to_z3_boolean_expr(self, e):
        """A condition of sympy as one of z3."""
        condition = SympyToZ3(self).run(e)
        if not isinstance(condition, z3.BoolRef):
            raise AssertionError(f"expected boolean expression. Got: {condition}")
        return condition

    def add_source_expr(self, e):
        self._source_exprs.add(e)

    def add_target_expr(self, e):
        self._check_freesymbols(e)
        self._target_exprs.add(self.to_z3_boolean_expr(e))

    def add_assertion(self, e):
        if isinstance(e, sympy.Basic):
            self._check_freesymbols(e)
            e = self.to_z3_boolean_expr(e)
        if not isinstance(e, z3.BoolRef):
            raise AssertionError(f"Expected z3.BoolRef, got {type(e)}")
        self._assertions.add(e)

    def validate(self):
        """Raises where the target and the assertions allow what the source does not."""
        if not self._source_exprs or not self._target_exprs:
            return
        solver = z3.Solver()
        solver.add(*self._assertions)
        solver.add(z3.Not(z3.And(*self._source_exprs)))
        solver.add(*self._target_exprs)
        found = solver.check()
        if found == z3.unknown:
            import logging

            logging.getLogger(__name__).warning("translation validation: could not validate: got z3.unknown")
        if found == z3.sat:
            model = solver.model()
            failed = [e for e in self._source_exprs if not model.evaluate(e)]
            raise ValidationException(model, self._assertions, self._target_exprs, failed)


def _listed(items):
    return "\n".join(f"  ==> {item}" for item in sorted(items))


class ValidationException(TorchDynamoException):
    """Guards that run allow what tracing did not ask for."""

    def __init__(self, model, assertions, target_exprs, failed_source_exprs):
        self.msg = "translation validation failed."
        self.details = "\n\n".join(
            f"{title}:\n{_listed(items)}"
            for title, items in (
                ("Model", (f"{symbol}: {model[symbol]}" for symbol in model)),
                ("Assertions", map(z3str, assertions)),
                ("Target Expressions", map(z3str, target_exprs)),
                ("Failed Source Expressions", map(z3str, failed_source_exprs)),
            )
        )

    def __str__(self):
        return f"{self.msg}\n\n{self.details}"


class BisectValidationException(TorchDynamoException):
    """The same, with the first condition that does not follow."""

    def __init__(self, validation_exc, expr, failed_action, traced_node):
        self.msg = f"translation validation failed when {failed_action}: {expr}"
        where = traced_node if isinstance(traced_node, str) else traced_node.format_node()
        self.details = f"Failure occurred while running node:\n    {where}\n\n{validation_exc.details}"

    def __str__(self):
        return f"{self.msg}\n\n{self.details}"


def bisect(shape_env):
    """The first condition of an environment that does not follow from its guards. The playground has validated graphs by then, and says
    which condition it was; environments of a script's own keep no events to replay."""
    raise NotImplementedError("torch.fx.experimental.validator.bisect: the playground's ShapeEnv keeps no events to replay")


class _Model(dict):
    """Values by the names of variables."""


def _condition(text):
    """A condition out of its text, operator first."""
    tokens, word = [], ""
    quoted = False
    for c in text:
        if c == "|":
            quoted = not quoted
        elif not quoted and c in "() ":
            tokens += [token for token in (word, c) if token.strip()]
            word = ""
        else:
            word += c
    tokens += [word] if word else []
    of = _Operations(TranslationValidator())
    chain = lambda function: lambda *args: args[0] if len(args) == 1 else function(chain(function)(*args[:-1]), args[-1])
    operators = {
        "+": lambda *args: z3.Sum(*args), "*": lambda *args: z3.Product(*args), "idiv": of.floordiv, "mod": of.mod, "max": chain(of.max),
        "min": chain(of.min), "pow": of.pow, "if": z3.If, "and": z3.And, "or": z3.Or, "not": z3.Not, "==": operator.eq, "!=": operator.ne,
        "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "opaque": lambda name: name,
    }  # fmt: skip

    def read():
        token = tokens.pop(0)
        if token != "(":
            return z3.IntVal(int(token)) if token.lstrip("-").isdigit() else z3.BoolVal(token == "true") if token in ("true", "false") else z3.Int(token)
        name, args = tokens.pop(0), []
        while tokens[0] != ")":
            args.append(read())
        tokens.pop(0)
        return operators[name](*args)

    return read()


def _failed(model, assertions, target, failed, bisected, place):
    """The exception for a graph whose guards allow other sizes."""
    found = ValidationException(_Model(model), *(list(map(_condition, texts)) for texts in (assertions, target, failed)))
    if bisected is None:
        return found
    return BisectValidationException(found, bisected, "evaluating", place or "(no node)")
