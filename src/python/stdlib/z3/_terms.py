"""z3's expressions: applications of operators, none of which computes anything."""

from fractions import Fraction

Z3_OP_TRUE, Z3_OP_FALSE, Z3_OP_EQ, Z3_OP_DISTINCT, Z3_OP_ITE, Z3_OP_AND, Z3_OP_OR = range(256, 263)
Z3_OP_NOT, Z3_OP_IMPLIES = 265, 266
Z3_OP_ANUM, _, Z3_OP_LE, Z3_OP_GE, Z3_OP_LT, Z3_OP_GT, Z3_OP_ADD, Z3_OP_SUB, Z3_OP_UMINUS, Z3_OP_MUL, Z3_OP_DIV, Z3_OP_IDIV = range(512, 524)
Z3_OP_MOD, Z3_OP_TO_REAL, Z3_OP_TO_INT, _, Z3_OP_POWER = range(525, 530)
Z3_OP_UNINTERPRETED = 45101

_SIGNS = {
    Z3_OP_TRUE: "True", Z3_OP_FALSE: "False", Z3_OP_EQ: "==", Z3_OP_DISTINCT: "Distinct", Z3_OP_ITE: "If", Z3_OP_AND: "And", Z3_OP_OR: "Or",
    Z3_OP_NOT: "Not", Z3_OP_IMPLIES: "Implies", Z3_OP_LE: "<=", Z3_OP_GE: ">=", Z3_OP_LT: "<", Z3_OP_GT: ">", Z3_OP_ADD: "+", Z3_OP_SUB: "-",
    Z3_OP_UMINUS: "-", Z3_OP_MUL: "*", Z3_OP_DIV: "/", Z3_OP_IDIV: "/", Z3_OP_MOD: "%", Z3_OP_TO_REAL: "ToReal", Z3_OP_TO_INT: "ToInt",
    Z3_OP_POWER: "**",
}  # fmt: skip
_COMPARED = {Z3_OP_EQ: 4, Z3_OP_DISTINCT: 4, Z3_OP_LE: 4, Z3_OP_GE: 4, Z3_OP_LT: 4, Z3_OP_GT: 4}
# How strongly an infix operator binds.
_BINDS = {**_COMPARED, Z3_OP_ADD: 5, Z3_OP_SUB: 5, Z3_OP_MUL: 6, Z3_OP_DIV: 6, Z3_OP_IDIV: 6, Z3_OP_MOD: 6, Z3_OP_UMINUS: 7, Z3_OP_POWER: 8}


class Z3Exception(Exception):
    """An expression that cannot be made."""


class SortRef:
    """A kind of values."""

    def __init__(self, name):
        self._name = name

    def name(self):
        return self._name

    __repr__ = __str__ = name


_INT, _REAL, _BOOL = SortRef("Int"), SortRef("Real"), SortRef("Bool")


class FuncDeclRef:
    """The operator of an application, or a variable."""

    def __init__(self, kind, name):
        self._kind, self._name = kind, name

    def kind(self):
        return self._kind

    def name(self):
        return self._name

    def __call__(self):
        raise Z3Exception("the playground makes variables with Int, Real and Bool")

    def __eq__(self, other):
        return isinstance(other, FuncDeclRef) and (self._kind, self._name) == (other._kind, other._name)

    def __hash__(self):
        return hash((self._kind, self._name))

    def __repr__(self):
        return self._name


class ExprRef:
    """An application: its operator and what that is applied to."""

    def __init__(self, kind, args=(), value=None, sort=_BOOL):
        self._kind, self._args, self._value, self._sort = kind, tuple(args), value, sort
        self._key = (kind, value, sort.name(), tuple(arg._key for arg in self._args))

    def sort(self):
        return self._sort

    def decl(self):
        return FuncDeclRef(self._kind, self._value if self._kind == Z3_OP_UNINTERPRETED else _SIGNS.get(self._kind, str(self._value)))

    def num_args(self):
        return len(self._args)

    def arg(self, at):
        return self._args[at]

    def children(self):
        return list(self._args)

    def eq(self, other):
        """Whether the two are the same expression."""
        return isinstance(other, ExprRef) and self._key == other._key

    def hash(self):
        return hash(self._key)

    def get_id(self):
        return id(self)

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        if other is None:
            return False
        a, b = _common(self, other)
        return BoolRef(Z3_OP_EQ, (a, b))

    def __ne__(self, other):
        if other is None:
            return True
        a, b = _common(self, other)
        return BoolRef(Z3_OP_DISTINCT, (a, b))

    def sexpr(self):
        """As SMT-LIB writes it."""
        return _in_smt_lib(self)

    def __repr__(self):
        return _printed(self, 0)

    __str__ = __repr__


class BoolRef(ExprRef):
    """A condition."""

    def __bool__(self):
        if self._kind in (Z3_OP_TRUE, Z3_OP_FALSE):
            return self._kind == Z3_OP_TRUE
        if self._kind in (Z3_OP_EQ, Z3_OP_DISTINCT) and len(self._args) == 2:
            return self._args[0].eq(self._args[1]) == (self._kind == Z3_OP_EQ)
        raise Z3Exception("Symbolic expressions cannot be cast to concrete Boolean values.")

    def __and__(self, other):
        return And(self, other)

    def __or__(self, other):
        return Or(self, other)

    def __invert__(self):
        return Not(self)


class ArithRef(ExprRef):
    """A number."""

    def is_int(self):
        return self._sort is _INT

    def is_real(self):
        return self._sort is _REAL

    def _with(self, kind, other, turned=False):
        if not isinstance(other, (ArithRef, BoolRef, int, float, Fraction, str)):
            return NotImplemented
        a, b = _common(self, other)
        a, b = (b, a) if turned else (a, b)
        if kind == Z3_OP_DIV and a.is_int():
            kind = Z3_OP_IDIV
        return ArithRef(kind, (a, b), sort=a.sort())

    def _compared(self, kind, other):
        if not isinstance(other, (ArithRef, BoolRef, int, float, Fraction, str)):
            return NotImplemented
        return BoolRef(kind, _common(self, other))

    def __add__(self, other):
        return self._with(Z3_OP_ADD, other)

    def __radd__(self, other):
        return self._with(Z3_OP_ADD, other, True)

    def __sub__(self, other):
        return self._with(Z3_OP_SUB, other)

    def __rsub__(self, other):
        return self._with(Z3_OP_SUB, other, True)

    def __mul__(self, other):
        return self._with(Z3_OP_MUL, other)

    def __rmul__(self, other):
        return self._with(Z3_OP_MUL, other, True)

    def __truediv__(self, other):
        return self._with(Z3_OP_DIV, other)

    def __rtruediv__(self, other):
        return self._with(Z3_OP_DIV, other, True)

    def __mod__(self, other):
        return self._with(Z3_OP_MOD, other)

    def __rmod__(self, other):
        return self._with(Z3_OP_MOD, other, True)

    def __pow__(self, other):
        return self._with(Z3_OP_POWER, other)

    def __rpow__(self, other):
        return self._with(Z3_OP_POWER, other, True)

    def __neg__(self):
        return ArithRef(Z3_OP_UMINUS, (self,), sort=self._sort)

    def __pos__(self):
        return self

    def __lt__(self, other):
        return self._compared(Z3_OP_LT, other)

    def __le__(self, other):
        return self._compared(Z3_OP_LE, other)

    def __gt__(self, other):
        return self._compared(Z3_OP_GT, other)

    def __ge__(self, other):
        return self._compared(Z3_OP_GE, other)


for _class in (BoolRef, ArithRef):
    _class.__hash__, _class.__eq__, _class.__ne__ = ExprRef.__hash__, ExprRef.__eq__, ExprRef.__ne__


class IntNumRef(ArithRef):
    """An integer."""

    def as_long(self):
        return self._value

    def as_string(self):
        return str(self._value)


class RatNumRef(ArithRef):
    """A fraction."""

    def as_fraction(self):
        return self._value

    def numerator_as_long(self):
        return self._value.numerator

    def denominator_as_long(self):
        return self._value.denominator

    def as_string(self):
        return str(self._value)


def _value(value):
    if isinstance(value, ExprRef):
        return value
    if isinstance(value, bool):
        return BoolVal(value)
    if isinstance(value, int):
        return IntVal(value)
    if isinstance(value, (float, Fraction, str)):
        return RealVal(value)
    raise Z3Exception("Python bool, int, long or float expected")


def _common(a, b):
    """The two as values of one sort."""
    a, b = _value(a), _value(b)
    if a.sort() is b.sort():
        return a, b
    sorts = {a.sort(), b.sort()}
    if sorts == {_INT, _REAL}:
        return _real(a), _real(b)
    if _BOOL in sorts:
        number = _INT if _INT in sorts else _REAL

        def as_number(e):
            one, none = (IntVal(1), IntVal(0)) if number is _INT else (RealVal(1), RealVal(0))
            return If(e, one, none) if e.sort() is _BOOL else e

        return as_number(a), as_number(b)
    raise Z3Exception("sort mismatch")


def _real(e):
    if e.sort() is _REAL:
        return e
    return RealVal(e.as_long()) if isinstance(e, IntNumRef) else ToReal(e)


def IntVal(value, ctx=None):
    return IntNumRef(Z3_OP_ANUM, value=int(value), sort=_INT)


def RealVal(value, ctx=None):
    return RatNumRef(Z3_OP_ANUM, value=Fraction(str(value)) if isinstance(value, float) else Fraction(value), sort=_REAL)


def Q(a, b, ctx=None):
    return RealVal(Fraction(a, b))


def BoolVal(value, ctx=None):
    return BoolRef(Z3_OP_TRUE if value else Z3_OP_FALSE)


def Int(name, ctx=None):
    return ArithRef(Z3_OP_UNINTERPRETED, value=name, sort=_INT)


def Real(name, ctx=None):
    return ArithRef(Z3_OP_UNINTERPRETED, value=name, sort=_REAL)


def Bool(name, ctx=None):
    return BoolRef(Z3_OP_UNINTERPRETED, value=name)


def _several(make):
    return lambda names, ctx=None: [make(name) for name in (names.split() if isinstance(names, str) else names)]


Ints, Reals, Bools = _several(Int), _several(Real), _several(Bool)


def IntSort(ctx=None):
    return _INT


def RealSort(ctx=None):
    return _REAL


def BoolSort(ctx=None):
    return _BOOL


def _all(args):
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple, set)) else list(args)


def _truth(value):
    value = _value(value)
    if value.sort() is not _BOOL:
        raise Z3Exception("True, False or Z3 Boolean expression expected")
    return value


def And(*args):
    return BoolRef(Z3_OP_AND, map(_truth, _all(args)))


def Or(*args):
    return BoolRef(Z3_OP_OR, map(_truth, _all(args)))


def Not(a, ctx=None):
    return BoolRef(Z3_OP_NOT, (_truth(a),))


def Implies(a, b, ctx=None):
    return BoolRef(Z3_OP_IMPLIES, (_truth(a), _truth(b)))


def If(a, b, c, ctx=None):
    b, c = _common(b, c)
    return type(b if not isinstance(b, (IntNumRef, RatNumRef)) else ArithRef(0))(Z3_OP_ITE, (_truth(a), b, c), sort=b.sort())


def Distinct(*args):
    args = list(map(_value, _all(args)))
    return BoolRef(Z3_OP_DISTINCT, args)


def ToReal(a):
    return ArithRef(Z3_OP_TO_REAL, (a,), sort=_REAL)


def ToInt(a):
    return ArithRef(Z3_OP_TO_INT, (a,), sort=_INT)


def Abs(a):
    return If(a > 0, a, -a)


def _chain(kind, empty):
    def chain(*args):
        args = list(map(_value, _all(args)))
        if len(args) < 2:
            return args[0] if args else IntVal(empty)
        if len({arg.sort() for arg in args}) > 1:
            args = list(map(_real, args))
        return ArithRef(kind, args, sort=args[0].sort())

    return chain


Sum, Product = _chain(Z3_OP_ADD, 0), _chain(Z3_OP_MUL, 1)


def is_expr(a):
    return isinstance(a, ExprRef)


is_app = is_ast = is_expr


def is_bool(a):
    return isinstance(a, BoolRef)


def is_arith(a):
    return isinstance(a, ArithRef)


def is_int(a):
    return is_arith(a) and a.is_int()


def is_real(a):
    return is_arith(a) and a.is_real()


def is_int_value(a):
    return isinstance(a, IntNumRef)


def is_rational_value(a):
    return isinstance(a, RatNumRef)


def is_const(a):
    return is_expr(a) and a.num_args() == 0


def _is(kind):
    return lambda a: is_expr(a) and a._kind == kind


is_true, is_false, is_and, is_or, is_not, is_eq = map(
    _is, (Z3_OP_TRUE, Z3_OP_FALSE, Z3_OP_AND, Z3_OP_OR, Z3_OP_NOT, Z3_OP_EQ)
)
is_add, is_mul, is_le, is_lt, is_ge, is_gt = map(_is, (Z3_OP_ADD, Z3_OP_MUL, Z3_OP_LE, Z3_OP_LT, Z3_OP_GE, Z3_OP_GT))


def eq(a, b):
    """Whether the two are the same expression."""
    return a.eq(b)


def _printed(e, around):
    """The expression with Python's operators; `around` is how strongly the one around it binds."""
    kind, args = e._kind, e._args
    if kind in (Z3_OP_ANUM, Z3_OP_UNINTERPRETED):
        return str(e._value)
    if kind in (Z3_OP_TRUE, Z3_OP_FALSE):
        return _SIGNS[kind]
    binds = _BINDS.get(kind)
    if binds is None or kind == Z3_OP_DISTINCT and len(args) != 2:
        return f"{_SIGNS[kind]}({', '.join(_printed(arg, 0) for arg in args)})"
    if kind == Z3_OP_UMINUS:
        text = "-" + _printed(args[0], binds)
    else:
        sign = "!=" if kind == Z3_OP_DISTINCT else _SIGNS[kind]
        # A sum or product within the same on its left needs no parentheses.
        first = _printed(args[0], binds - 1 if kind != Z3_OP_POWER else binds)
        rest = [_printed(arg, binds) for arg in args[1:]]
        text = (sign if binds >= 6 else f" {sign} ").join([first, *rest])
    return f"({text})" if binds <= around else text


_SMT_LIB = {
    Z3_OP_TRUE: "true", Z3_OP_FALSE: "false", Z3_OP_EQ: "=", Z3_OP_DISTINCT: "distinct", Z3_OP_ITE: "ite", Z3_OP_AND: "and", Z3_OP_OR: "or",
    Z3_OP_NOT: "not", Z3_OP_IMPLIES: "=>", Z3_OP_IDIV: "div", Z3_OP_MOD: "mod", Z3_OP_TO_REAL: "to_real", Z3_OP_TO_INT: "to_int",
}  # fmt: skip


def _in_smt_lib(e):
    if e._kind == Z3_OP_ANUM:
        number = abs(e._value)
        text = str(number) if e.is_int() else f"{number}.0" if number.denominator == 1 else f"(/ {number.numerator}.0 {number.denominator}.0)"
        return f"(- {text})" if e._value < 0 else text
    if e._kind == Z3_OP_UNINTERPRETED:
        return f"|{e._value}|" if any(c in e._value for c in " ()|[]'") else e._value
    head = _SMT_LIB.get(e._kind) or _SIGNS[e._kind]
    return f"({' '.join([head, *map(_in_smt_lib, e._args)])})" if e._args else head


__all__ = [name for name in globals() if not name.startswith("_") and name not in ("Fraction", "Z3Exception")]
