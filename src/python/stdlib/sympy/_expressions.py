"""Numbers, symbols, sums, products and powers, kept in sympy's form: like terms together, numbers multiplied into sums."""

from fractions import Fraction
from math import inf

_ASSUMED = ("integer", "positive", "nonnegative", "negative", "nonzero", "real", "even", "odd", "finite")


class Basic:
    """An expression: a class and its arguments."""

    is_number = is_Symbol = is_Add = is_Mul = is_Pow = is_Integer = is_Rational = is_Float = is_Number = is_Relational = is_Boolean = False
    _args = ()

    @property
    def args(self):
        return self._args

    @property
    def func(self):
        return type(self)

    @property
    def free_symbols(self):
        return set().union(*(arg.free_symbols for arg in self._args)) if self._args else set()

    def _key(self):
        return (type(self).__name__, tuple(arg._key() for arg in self._args))

    def __eq__(self, other):
        if not isinstance(other, Basic):
            try:
                other = sympify(other)
            except TypeError:
                return NotImplemented
        return self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        return self._printed()

    __str__ = __repr__

    def _rebuilt(self, change):
        """The same of changed arguments, changed itself."""
        if not self._args:
            return change(self)
        return change(self.func(*(arg._rebuilt(change) for arg in self._args)))

    def _expanded(self):
        return self

    def subs(self, *args, **options):
        """With parts replaced."""
        [pairs] = args if len(args) == 1 else [[args]]
        result = self
        for old, new in pairs.items() if isinstance(pairs, dict) else pairs:
            old, new = sympify(old), sympify(new)
            result = result._rebuilt(lambda part: new if part == old else part)
        return result

    def xreplace(self, rule):
        return self._rebuilt(lambda part: rule.get(part, part))

    replace = subs

    def has(self, *parts):
        parts = list(map(sympify, parts))
        return self in parts or any(arg.has(*parts) for arg in self._args)

    def atoms(self, *types):
        types = types or (Symbol, Number)
        found = {self} if isinstance(self, types) else set()
        return found.union(*(arg.atoms(*types) for arg in self._args))

    def doit(self, **hints):
        return self

    def __bool__(self):
        return True


class Expr(Basic):
    """A number, symbolic or not."""

    _binds = 10

    def __add__(self, other):
        return _operated(Add, self, other)

    def __radd__(self, other):
        return _operated(Add, other, self)

    def __sub__(self, other):
        return _operated(lambda a, b: Add(a, Mul(-1, b)), self, other)

    def __rsub__(self, other):
        return _operated(lambda a, b: Add(a, Mul(-1, b)), other, self)

    def __mul__(self, other):
        return _operated(Mul, self, other)

    def __rmul__(self, other):
        return _operated(Mul, other, self)

    def __truediv__(self, other):
        return _operated(lambda a, b: Mul(a, Pow(b, -1)), self, other)

    def __rtruediv__(self, other):
        return _operated(lambda a, b: Mul(a, Pow(b, -1)), other, self)

    def __floordiv__(self, other):
        return _operated(lambda a, b: _functions().floor(a / b), self, other)

    def __rfloordiv__(self, other):
        return _operated(lambda a, b: _functions().floor(a / b), other, self)

    def __mod__(self, other):
        return _operated(lambda a, b: _functions().Mod(a, b), self, other)

    def __rmod__(self, other):
        return _operated(lambda a, b: _functions().Mod(a, b), other, self)

    def __pow__(self, other):
        return _operated(Pow, self, other)

    def __rpow__(self, other):
        return _operated(Pow, other, self)

    def __neg__(self):
        return Mul(-1, self)

    def __pos__(self):
        return self

    def __abs__(self):
        return _functions().Abs(self)

    def __lt__(self, other):
        return _operated(_conditions().Lt, self, other)

    def __le__(self, other):
        return _operated(_conditions().Le, self, other)

    def __gt__(self, other):
        return _operated(_conditions().Gt, self, other)

    def __ge__(self, other):
        return _operated(_conditions().Ge, self, other)

    def __int__(self):
        raise TypeError("Cannot convert symbols to int")

    __index__ = __int__

    def __float__(self):
        raise TypeError("Cannot convert expression to float")

    @property
    def is_positive(self):
        least = self._least()
        return True if least is not None and least > 0 else False if self._most() is not None and self._most() <= 0 else None

    @property
    def is_nonnegative(self):
        least = self._least()
        return True if least is not None and least >= 0 else False if self._most() is not None and self._most() < 0 else None

    @property
    def is_negative(self):
        known = self.is_nonnegative
        return None if known is None else not known

    @property
    def is_nonpositive(self):
        known = self.is_positive
        return None if known is None else not known

    @property
    def is_zero(self):
        return False if self.is_positive or self.is_negative else None

    @property
    def is_nonzero(self):
        return None if self.is_zero is None else not self.is_zero

    @property
    def is_integer(self):
        return True if self._args and all(arg.is_integer for arg in self._args) else None

    @property
    def is_real(self):
        return True

    is_finite = is_real

    def _least(self):
        """A number that it is no smaller than; where it is above zero, one above zero."""

    def _most(self):
        least = Mul(-1, self)._least() if not isinstance(self, Mul) or self._coefficient() < 0 else None
        return None if least is None else -least

    def as_coeff_Mul(self):
        return S.One, self

    def as_coefficients_dict(self):
        return {term: _number(factor) for term, factor in _terms(self).items()}

    def expand(self, **hints):
        return self._rebuilt(lambda part: part._expanded())

    simplify = expand

    def _within(self, binds):
        """As an operand of what binds so strongly."""
        text = self._printed()
        return f"({text})" if self._binds < binds else text

    __eq__, __hash__ = Basic.__eq__, Basic.__hash__


def _functions():
    from sympy import _functions

    return _functions


def _conditions():
    from sympy import _conditions

    return _conditions


def _operated(operation, a, b):
    try:
        return operation(sympify(a), sympify(b))
    except _NotSymbolic:
        return NotImplemented


class _NotSymbolic(TypeError):
    """No number, and nothing that becomes one."""


SympifyError = _NotSymbolic


def sympify(value, **options):
    """A Python number as an expression."""
    if isinstance(value, Basic):
        return value
    if isinstance(value, bool):
        return _conditions().true if value else _conditions().false
    if isinstance(value, int):
        return Integer(value)
    if isinstance(value, float):
        return Float(value)
    if isinstance(value, Fraction):
        return _number(value)
    raise _NotSymbolic(f"cannot sympify object of type {type(value)}")


class Number(Expr):
    """A number."""

    is_number = is_Number = True

    def __new__(cls, value):
        return sympify(value)

    def _key(self):
        return ("Number", self._value)

    def _least(self):
        return self._value

    def _most(self):
        return self._value

    @property
    def is_zero(self):
        return self._value == 0

    def __int__(self):
        return int(self._value)

    def __float__(self):
        return float(self._value)

    def __bool__(self):
        return self._value != 0

    @property
    def _binds(self):
        return 5 if self._value < 0 else 6 if Fraction(self._value).denominator != 1 else 10

    __eq__, __hash__ = Basic.__eq__, Basic.__hash__


class Rational(Number):
    """A fraction."""

    is_Rational = True

    def __new__(cls, p, q=1):
        return _number(Fraction(int(p), int(q)) if not isinstance(p, (float, str)) else Fraction(p) / q)

    @property
    def p(self):
        return self._value.numerator

    @property
    def q(self):
        return self._value.denominator

    @property
    def is_integer(self):
        return self._value.denominator == 1

    def _printed(self):
        return str(self._value)


class Integer(Rational):
    """An integer."""

    is_Integer = True

    def __new__(cls, value):
        made = object.__new__(cls)
        made._value = Fraction(int(value))
        return made

    def __index__(self):
        return int(self._value)


class Float(Number):
    """A float, printed with 15 digits."""

    is_Float = True

    def __new__(cls, value, *precision):
        made = object.__new__(cls)
        made._value = float(value)
        return made

    _binds = 10

    @property
    def is_integer(self):
        return False

    def _key(self):
        return ("Float", self._value)

    def _printed(self):
        digits = f"{self._value:.15g}"
        if "e" in digits or "inf" in digits or "nan" in digits:
            return digits
        whole, _, rest = digits.partition(".")
        return f"{whole}.{rest.ljust(15 - len(whole.lstrip('-').lstrip('0')), '0')}"


class _Infinity(Number):
    """Beyond all numbers."""

    def __new__(cls, sign):
        made = object.__new__(cls)
        made._value = sign * inf
        return made

    _binds = 10
    is_integer = False

    def __neg__(self):
        return _Infinity(-1 if self._value > 0 else 1)

    def _printed(self):
        return "oo" if self._value > 0 else "-oo"


def _number(value):
    """A fraction or float as an expression."""
    if isinstance(value, float):
        return Float(value)
    if value.denominator == 1:
        return Integer(value.numerator)
    made = object.__new__(Rational)
    made._value = value
    return made


class Symbol(Expr):
    """A symbol: two of one name and the same assumptions are one."""

    is_Symbol = True

    def __new__(cls, name, **assumptions):
        for assumed in assumptions:
            if assumed not in _ASSUMED:
                raise AttributeError(f"the playground's symbols know nothing of '{assumed}'")
        made = object.__new__(cls)
        made.name = name
        made._assumptions = tuple(sorted((k, v) for k, v in assumptions.items() if v is not None))
        return made

    @property
    def free_symbols(self):
        return {self}

    @property
    def assumptions0(self):
        return dict(self._assumptions)

    def _assumed(self, what):
        return dict(self._assumptions).get(what)

    @property
    def is_integer(self):
        return self._assumed("integer")

    def _least(self):
        if self._assumed("positive"):
            # Of what is no integer, no number is the smallest.
            return 1 if self.is_integer else 5e-324
        return 0 if self._assumed("nonnegative") else None

    @property
    def is_nonzero(self):
        return self._assumed("nonzero") or super().is_nonzero

    def _most(self):
        return -5e-324 if self._assumed("negative") else None

    def _key(self):
        return ("Symbol", self.name, self._assumptions)

    def _printed(self):
        return self.name


class Dummy(Symbol):
    """A symbol that equals no other."""

    _count = 0

    def __new__(cls, name="Dummy", **assumptions):
        made = super().__new__(cls, name, **assumptions)
        Dummy._count += 1
        made._number = Dummy._count
        return made

    def _key(self):
        return ("Dummy", self.name, self._number)

    def _printed(self):
        return "_" + self.name


def symbols(names, *, cls=Symbol, **assumptions):
    """Symbols by their names, which stand between commas or spaces; `s0:3` is three."""
    made = []
    parts = names.replace(",", " ").split() if isinstance(names, str) else names
    for part in parts:
        start, colon, end = part.partition(":")
        if colon:
            stem = start.rstrip("0123456789")
            made += [cls(f"{stem}{n}", **assumptions) for n in range(int(start[len(stem) :] or 0), int(end))]
        else:
            made.append(cls(part, **assumptions))
    return made[0] if len(made) == 1 and isinstance(names, str) and "," not in names else tuple(made)


def _terms(e):
    """A sum as its terms with their numbers."""
    if isinstance(e, Add):
        items = [_split(arg) for arg in e._args]
    else:
        items = [_split(e)]
    return {term: factor for factor, term in items}


def _split(e):
    """The number before an expression, and the rest."""
    if isinstance(e, Number):
        return e._value, S.One
    if isinstance(e, Mul) and isinstance(e._args[0], Number):
        rest = e._args[1:]
        return e._args[0]._value, rest[0] if len(rest) == 1 else _made(Mul, rest)
    return Fraction(1), e


def _made(cls, args):
    made = object.__new__(cls)
    made._args = tuple(args)
    return made


def _order(e):
    """Symbols first, then what is computed, by how it is printed."""
    return (not isinstance(e, Symbol), str(e))


class Add(Expr):
    """A sum."""

    is_Add = True
    _binds = 4

    def __new__(cls, *args, evaluate=True):
        total = {}
        for arg in map(sympify, args):
            for term, factor in _terms(arg).items():
                total[term] = total.get(term, 0) + factor
        number = total.pop(S.One, 0)
        terms = [_scaled(factor, term) for term, factor in total.items() if factor != 0]
        terms.sort(key=_order)
        if number != 0 or not terms:
            terms.insert(0, _number(number) if isinstance(number, (Fraction, float)) else Integer(number))
        return terms[0] if len(terms) == 1 else _made(Add, terms)

    def _least(self):
        least = [arg._least() for arg in self._args]
        return None if None in least else sum(least)

    def _most(self):
        most = [arg._most() for arg in self._args]
        return None if None in most else sum(most)

    def _printed(self):
        factors = sorted({factor for arg in self._args for factor in _powers(_split(arg)[1])}, key=_order)

        def key(arg):
            powers = _powers(_split(arg)[1])
            return [-powers.get(factor, 0) for factor in factors]

        terms = sorted(self._args, key=key)
        if len(terms) == 2 and isinstance(terms[1], Number) and terms[1]._value > 0 and _split(terms[0])[0] < 0:
            terms.reverse()
        text = ""
        for at, term in enumerate(terms):
            is_negative = _split(term)[0] < 0
            part = (Mul(-1, term) if is_negative else term)._within(5)
            text += ("-" if is_negative else "") + part if at == 0 else (" - " if is_negative else " + ") + part
        return text


def _powers(term):
    """The factors of a product with their powers."""
    found = {}
    for factor in term._args if isinstance(term, Mul) else (term,):
        base, power = factor._args if isinstance(factor, Pow) else (factor, S.One)
        if not isinstance(factor, Number):
            found[base] = found.get(base, 0) + (power._value if isinstance(power, Number) else 1)
    return found


def _scaled(factor, term):
    if term == S.One:
        return _number(factor)
    if factor == 1:
        return term
    return _made(Mul, (_number(factor), *(term._args if isinstance(term, Mul) else (term,))))


class Mul(Expr):
    """A product."""

    is_Mul = True
    _binds = 5

    def __new__(cls, *args, evaluate=True):
        number, powers = Fraction(1), {}
        for arg in map(sympify, args):
            factor, rest = _split(arg)
            number = number * factor
            for part in rest._args if isinstance(rest, Mul) else (rest,):
                base, power = part._args if isinstance(part, Pow) else (part, S.One)
                if not isinstance(part, Number):
                    powers[base] = Add(powers.get(base, 0), power)
                else:
                    number *= part._value
        if number == 0:
            return S.Zero
        factors = sorted((part for part in (Pow(base, power) for base, power in powers.items()) if part != S.One), key=_order)
        if not factors:
            return _number(number)
        if len(factors) == 1 and isinstance(factors[0], Add) and number != 1:
            # A number is multiplied into a sum.
            return Add(*(Mul(_number(number), term) for term in factors[0]._args))
        if number == 1:
            return factors[0] if len(factors) == 1 else _made(Mul, factors)
        return _made(Mul, (_number(number), *factors))

    def _coefficient(self):
        return _split(self)[0]

    def as_coeff_Mul(self):
        factor, rest = _split(self)
        return _number(factor), rest

    def _least(self):
        product = 1
        for arg in self._args:
            least = arg._least()
            if least is None or least < 0:
                return None
            product *= least
        return product

    def _most(self):
        least = Mul(-1, self)._least() if self._coefficient() < 0 else None
        return None if least is None else -least

    def _printed(self):
        factor, rest = _split(self)
        above, below = [], []
        for part in rest._args if isinstance(rest, Mul) else (rest,):
            is_below = isinstance(part, Pow) and isinstance(part._args[1], Number) and part._args[1]._value < 0
            (below if is_below else above).append(Pow(part._args[0], -part._args[1]) if is_below else part)
        sign = "-" if factor < 0 else ""
        factor = abs(factor)
        if isinstance(factor, Fraction):
            if factor.numerator != 1:
                above.insert(0, Integer(factor.numerator))
            if factor.denominator != 1:
                below.insert(0, Integer(factor.denominator))
        else:
            above.insert(0, Float(factor))
        text = "*".join(part._within(5 if len(above) == 1 and not below and not sign else 6 if isinstance(part, (Add, Mul)) else 5) for part in above) or "1"
        if below:
            divisor = "*".join(part._within(6) for part in below)
            text += f"/{divisor}" if len(below) == 1 else f"/({divisor})"
        return sign + text

    def _expanded(self):
        sums = [[*arg._args] if isinstance(arg, Add) else [arg] for arg in self._args]
        terms = [[]]
        for parts in sums:
            terms = [term + [part] for term in terms for part in parts]
        return Add(*(Mul(*term) for term in terms)) if len(terms) > 1 else self


class Pow(Expr):
    """A power."""

    is_Pow = True
    _binds = 7

    def __new__(cls, base, power, evaluate=True):
        base, power = sympify(base), sympify(power)
        if power == S.Zero:
            return S.One
        if power == S.One or base == S.One:
            return base
        if isinstance(base, Number) and isinstance(power, Integer):
            return _number(base._value ** int(power))
        if isinstance(base, Pow) and isinstance(power, Integer):
            return Pow(base._args[0], Mul(base._args[1], power))
        if isinstance(base, Mul) and isinstance(power, Integer):
            return Mul(*(Pow(part, power) for part in base._args))
        return _made(Pow, (base, power))

    @property
    def base(self):
        return self._args[0]

    @property
    def exp(self):
        return self._args[1]

    def as_base_exp(self):
        return self._args

    @property
    def is_integer(self):
        base, power = self._args
        return True if base.is_integer and power.is_integer and power.is_nonnegative else None

    def _least(self):
        base, power = self._args
        if isinstance(power, Integer) and power._value > 0:
            least = base._least()
            if least is not None and least >= 0:
                return least ** int(power)
            return 0 if power._value % 2 == 0 else None
        return None

    def _printed(self):
        base, power = self._args
        if isinstance(power, Number) and power._value < 0:
            return f"1/{Pow(base, -power)._within(7)}"
        if power == Rational(1, 2):
            return f"sqrt({base})"
        return f"{base._within(8)}**{power._within(8)}"

    def _expanded(self):
        base, power = self._args
        if isinstance(base, Add) and isinstance(power, Integer) and 1 < power._value < 16:
            product = base
            for _ in range(int(power) - 1):
                product = Add(*(Mul(a, b) for a in (product._args if isinstance(product, Add) else (product,)) for b in base._args))
            return product
        return self


class _Singletons:
    """`sympy.S`"""

    def __call__(self, value):
        return sympify(value)


S = _Singletons()
S.Zero, S.One, S.NegativeOne, S.Half = Integer(0), Integer(1), Integer(-1), _number(Fraction(1, 2))
oo = S.Infinity = _Infinity(1)
S.NegativeInfinity = _Infinity(-1)
nan = Float(float("nan"))
