"""Relations and conditions. A relation that assumptions of symbols settle is `true` or `false`."""

from sympy._expressions import Add, Basic, Integer, Mul, Number, S, _made, sympify


class Boolean(Basic):
    """A condition."""

    is_Boolean = True

    def __and__(self, other):
        return And(self, other)

    def __or__(self, other):
        return Or(self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self):
        return Not(self)

    def simplify(self, **options):
        return self

    __eq__, __hash__ = Basic.__eq__, Basic.__hash__


class BooleanAtom(Boolean):
    """True or false."""

    def __new__(cls, value):
        made = object.__new__(cls)
        made._value = value
        return made

    def _key(self):
        return ("Boolean", self._value)

    def __eq__(self, other):
        return other is self or other is self._value or isinstance(other, BooleanAtom) and other._value is self._value

    def __hash__(self):
        return hash(self._value)

    def __bool__(self):
        return self._value

    def _printed(self):
        return str(self._value)


class BooleanTrue(BooleanAtom):
    """True."""


class BooleanFalse(BooleanAtom):
    """False."""


true, false = BooleanTrue(True), BooleanFalse(False)
S.true, S.false = true, false


def _settled(value):
    return None if value is None else true if value else false


class Relational(Boolean):
    """A comparison of two numbers."""

    is_Relational = True

    def __new__(cls, a, b=0, relation=None, *, evaluate=True, **options):
        if cls is Relational:
            return _BY_SIGN[relation](a, b)
        a, b = sympify(a), sympify(b)
        if evaluate:
            known = cls._known(a, b)
            if known is not None:
                return known
        return _made(cls, (a, b))

    @property
    def lhs(self):
        return self._args[0]

    @property
    def rhs(self):
        return self._args[1]

    gts = property(lambda self: self._args[0 if self.rel_op.startswith(">") else 1])
    lts = property(lambda self: self._args[1 if self.rel_op.startswith(">") else 0])

    @property
    def negated(self):
        return _BY_SIGN[_NEGATED[self.rel_op]](*self._args, evaluate=False)

    @property
    def reversed(self):
        return _BY_SIGN[_REVERSED[self.rel_op]](self.rhs, self.lhs, evaluate=False)

    @property
    def canonical(self):
        return self.reversed if isinstance(self.lhs, Number) else self

    def __bool__(self):
        if isinstance(self, (Equality, Unequality)):
            return (self.lhs == self.rhs) == isinstance(self, Equality)
        raise TypeError("cannot determine truth value of Relational: " + str(self))

    def _printed(self):
        return f"{self.lhs} {self.rel_op} {self.rhs}"

    __eq__, __hash__ = Basic.__eq__, Basic.__hash__


def _difference(a, b):
    return Add(a, Mul(-1, b))


class Equality(Relational):
    """`Eq(a, b)`"""

    rel_op = "=="

    @classmethod
    def _known(cls, a, b):
        if isinstance(a, Boolean) or isinstance(b, Boolean):
            return _settled(a == b or None)
        zero = _difference(a, b).is_zero
        return _settled(zero)

    def _printed(self):
        return f"Eq({self.lhs}, {self.rhs})"


class Unequality(Relational):
    """`Ne(a, b)`"""

    rel_op = "!="

    @classmethod
    def _known(cls, a, b):
        known = Equality._known(a, b)
        return None if known is None else _settled(not known)

    def _printed(self):
        return f"Ne({self.lhs}, {self.rhs})"


class StrictGreaterThan(Relational):
    """`a > b`"""

    rel_op = ">"

    @classmethod
    def _known(cls, a, b):
        return _settled(_difference(a, b).is_positive)


class GreaterThan(Relational):
    """`a >= b`"""

    rel_op = ">="

    @classmethod
    def _known(cls, a, b):
        return _settled(_difference(a, b).is_nonnegative)


class StrictLessThan(Relational):
    """`a < b`"""

    rel_op = "<"

    @classmethod
    def _known(cls, a, b):
        return StrictGreaterThan._known(b, a)


class LessThan(Relational):
    """`a <= b`"""

    rel_op = "<="

    @classmethod
    def _known(cls, a, b):
        return GreaterThan._known(b, a)


Eq, Ne, Gt, Ge, Lt, Le, Rel = Equality, Unequality, StrictGreaterThan, GreaterThan, StrictLessThan, LessThan, Relational
_BY_SIGN = {cls.rel_op: cls for cls in (Eq, Ne, Gt, Ge, Lt, Le)}
_NEGATED = {"==": "!=", "!=": "==", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}
_REVERSED = {"==": "==", "!=": "!=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}


def _joined(cls, args, absorbing):
    kept = []
    for arg in map(sympify, args):
        for part in arg._args if isinstance(arg, cls) else (arg,):
            if part == absorbing:
                return absorbing
            if not isinstance(part, BooleanAtom) and part not in kept:
                kept.append(part)
    if len(kept) < 2:
        return kept[0] if kept else Not(absorbing)
    return _made(cls, sorted(kept, key=lambda part: (type(part).__name__, str(part))))


class And(Boolean):
    """Whether all hold."""

    def __new__(cls, *args, evaluate=True):
        return _joined(cls, args, false)

    def _printed(self):
        return " & ".join(f"({arg})" if isinstance(arg, (And, Or)) or _is_infix(arg) else str(arg) for arg in self._args)


class Or(Boolean):
    """Whether one holds."""

    def __new__(cls, *args, evaluate=True):
        return _joined(cls, args, true)

    def _printed(self):
        return " | ".join(f"({arg})" if isinstance(arg, (And, Or)) or _is_infix(arg) else str(arg) for arg in self._args)


def _is_infix(e):
    return isinstance(e, Relational) and not isinstance(e, (Equality, Unequality))


class Not(Boolean):
    """Whether it does not hold."""

    def __new__(cls, arg, evaluate=True):
        arg = sympify(arg)
        if isinstance(arg, BooleanAtom):
            return false if arg else true
        if isinstance(arg, Relational):
            return arg.negated
        if isinstance(arg, Not):
            return arg._args[0]
        if isinstance(arg, (And, Or)):
            return (Or if isinstance(arg, And) else And)(*map(Not, arg._args))
        return _made(cls, (arg,))

    def _printed(self):
        return f"~{self._args[0]}"
