"""`Solver`: conditions go to the playground's procedure for integers as text, operator first; models come back."""

from fractions import Fraction
from math import lcm

from z3._simplify import sum_of
from z3._terms import *
from z3._terms import _BOOL, _INT, _REAL, Z3Exception, _truth


class CheckSatResult:
    """What a solver says."""

    def __init__(self, name):
        self._name = name

    def __eq__(self, other):
        return isinstance(other, CheckSatResult) and self._name == other._name

    def __hash__(self):
        return hash(self._name)

    def __repr__(self):
        return self._name


sat, unsat, unknown = map(CheckSatResult, ("sat", "unsat", "unknown"))


class _Undecidable(Exception):
    """A number that is no integer."""


def _sum_text(e):
    """A number as text; where it has fractions, what it is to be divided by is given, too."""
    terms, items = [], sum_of(e)
    divisor = lcm(*(number.denominator for number in items.values()), 1)
    for product, number in items.items():
        factors = [str(int(number * divisor)), *map(_atom_text, product)]
        terms.append(f"(* {' '.join(factors)})")
    return (f"(+ {' '.join(terms)})" if terms else "0"), divisor


def _whole_text(e):
    text, divisor = _sum_text(e)
    if divisor != 1:
        raise _Undecidable
    return text


def _floor_text(e):
    """A real, rounded down: of a quotient of integers Python's `//`."""
    if e._kind == Z3_OP_DIV:
        return f"(idiv {_whole_text(e._args[0])} {_whole_text(e._args[1])})"
    text, divisor = _sum_text(e)
    return text if divisor == 1 else f"(idiv {text} {divisor})"


def _name_text(name):
    return f"|{name}|"


def _atom_text(e):
    kind = e._kind
    if kind == Z3_OP_UNINTERPRETED and e.sort() is _INT:
        return _name_text(e._value)
    if kind == Z3_OP_TO_REAL:
        return _atom_text(e._args[0])
    if kind == Z3_OP_ADD:
        return _whole_text(e)
    if kind == Z3_OP_TO_INT:
        return _floor_text(e._args[0])
    if kind == Z3_OP_ITE:
        condition, yes, no = e._args
        return f"(if {_condition_text(condition)} {_whole_text(yes)} {_whole_text(no)})"
    if kind in (Z3_OP_IDIV, Z3_OP_MOD):
        # The remainder of z3 is never negative.
        a, b = map(_whole_text, e._args)
        quotient = f"(if (> {b} 0) (idiv {a} {b}) (* -1 (idiv {a} (* -1 {b}))))"
        return quotient if kind == Z3_OP_IDIV else f"(+ {a} (* -1 {b} {quotient}))"
    if kind == Z3_OP_POWER and e.sort() is _INT:
        return f"(pow {_whole_text(e._args[0])} {_whole_text(e._args[1])})"
    raise _Undecidable


def _condition_text(e):
    kind, args = e._kind, e._args
    if kind in (Z3_OP_TRUE, Z3_OP_FALSE):
        return str(kind == Z3_OP_TRUE).lower()
    if kind == Z3_OP_UNINTERPRETED:
        return _name_text(e._value)
    if kind in (Z3_OP_AND, Z3_OP_OR, Z3_OP_NOT):
        word = {Z3_OP_AND: "and", Z3_OP_OR: "or", Z3_OP_NOT: "not"}[kind]
        return f"({word} {' '.join(map(_condition_text, args))})"
    if kind == Z3_OP_IMPLIES:
        return f"(or (not {_condition_text(args[0])}) {_condition_text(args[1])})"
    if kind == Z3_OP_ITE:
        condition, yes, no = map(_condition_text, args)
        return f"(or (and {condition} {yes}) (and (not {condition}) {no}))"
    if kind == Z3_OP_DISTINCT and len(args) != 2:
        pairs = (BoolRef(Z3_OP_DISTINCT, (a, b)) for at, a in enumerate(args) for b in args[:at])
        return f"(and {' '.join(map(_condition_text, pairs))})"
    a, b = args
    if a.sort() is _BOOL:
        a, b = map(_condition_text, args)
        same = f"(or (and {a} {b}) (and (not {a}) (not {b})))"
        return same if kind == Z3_OP_EQ else f"(not {same})"
    sign = {Z3_OP_EQ: "==", Z3_OP_DISTINCT: "!=", Z3_OP_LE: "<=", Z3_OP_GE: ">=", Z3_OP_LT: "<", Z3_OP_GT: ">"}[kind]
    # Fractions of integers compare as their multiples do.
    text, _ = _sum_text(ArithRef(Z3_OP_SUB, (a, b), sort=a.sort()))
    return f"({sign} {text} 0)"


def _variables(e, found):
    if e._kind == Z3_OP_UNINTERPRETED:
        found.setdefault(e._value, e)
    for arg in e._args:
        _variables(arg, found)
    return found


class ModelRef:
    """Values of variables."""

    def __init__(self, values):
        self._values = values

    def decls(self):
        return [variable.decl() for variable, _ in self._values]

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(self.decls())

    def __getitem__(self, which):
        if isinstance(which, int):
            return self.decls()[which]
        name = which._value if isinstance(which, ExprRef) else which.name()
        return next((value for variable, value in self._values if variable._value == name), None)

    def eval(self, e, model_completion=False):
        """The expression with these values."""
        from z3._simplify import simplify

        return simplify(self._replaced(e, model_completion))

    evaluate = eval

    def _replaced(self, e, completes):
        if e._kind == Z3_OP_UNINTERPRETED:
            value = self[e]
            if value is None and completes:
                return BoolVal(False) if e.sort() is _BOOL else IntVal(0)
            return e if value is None else value
        if not e._args:
            return e
        args = [self._replaced(arg, completes) for arg in e._args]
        numbers = [arg._value for arg in args if isinstance(arg, (IntNumRef, RatNumRef))]
        if e._kind == Z3_OP_DIV and len(numbers) == 2 and numbers[1]:
            return RealVal(Fraction(numbers[0]) / numbers[1])
        if e._kind in (Z3_OP_IDIV, Z3_OP_MOD) and len(numbers) == 2 and numbers[1]:
            rest = numbers[0] % abs(numbers[1])
            return IntVal(rest if e._kind == Z3_OP_MOD else (numbers[0] - rest) // numbers[1])
        if e._kind == Z3_OP_TO_INT and len(numbers) == 1:
            return IntVal(Fraction(numbers[0]).__floor__())
        if e._kind == Z3_OP_TO_REAL and len(numbers) == 1:
            return RealVal(numbers[0])
        made = type(e) if isinstance(e, BoolRef) else ArithRef
        return made(e._kind, args, sort=e.sort())

    def __repr__(self):
        return "[" + ", ".join(f"{variable} = {value}" for variable, value in self._values) + "]"


def Model(ctx=None):
    return ModelRef([])


class Solver:
    """Conditions, and whether they hold together."""

    def __init__(self, solver=None, ctx=None, logFile=None):
        self._levels, self._model, self._last = [[]], None, None

    def set(self, *args, **keywords):
        """Settings are taken: the work that is done has a limit of its own."""

    def add(self, *conditions):
        for condition in conditions:
            self._levels[-1] += map(_truth, condition if isinstance(condition, (list, tuple, set)) else [condition])

    append = insert = assert_exprs = add

    def push(self):
        self._levels.append([])

    def pop(self, num=1):
        del self._levels[-num:]

    def reset(self):
        self._levels = [[]]

    def assertions(self):
        return [condition for level in self._levels for condition in level]

    def check(self, *assumptions):
        # The modules of torch are others in each run.
        from torch import _native_fake

        conditions = self.assertions() + list(map(_truth, assumptions))
        self._model, self._last = None, unknown
        try:
            found = _native_fake.solve([_condition_text(condition) for condition in conditions])
        except _Undecidable:
            return unknown
        if found is None:
            return unknown
        if found is False:
            self._last = unsat
            return unsat
        variables = {}
        for condition in conditions:
            _variables(condition, variables)
        known = [(variable, found.get(name)) for name, variable in variables.items()]
        value = lambda variable, number: BoolVal(number != 0) if variable.sort() is _BOOL else IntVal(number)
        self._model = ModelRef([(variable, value(variable, number)) for variable, number in known if number is not None])
        self._last = sat
        return sat

    def model(self):
        if self._model is None:
            raise Z3Exception("model is not available")
        return self._model

    def reason_unknown(self):
        return "incomplete"

    def __repr__(self):
        return "[" + ", ".join(map(str, self.assertions())) + "]"


def SolverFor(logic, ctx=None, logFile=None):
    return Solver()


def solve(*conditions, **keywords):
    """Prints values for which conditions hold."""
    solver = Solver()
    solver.add(*conditions)
    found = solver.check()
    print("no solution" if found == unsat else "failed to solve" if found == unknown else solver.model())


def prove(claim, **keywords):
    """Prints whether a condition always holds."""
    solver = Solver()
    solver.add(Not(claim))
    found = solver.check()
    if found == unsat:
        print("proved")
    elif found == unknown:
        print("failed to prove")
    else:
        print("counterexample")
        print(solver.model())
