"""Functions of numbers: rounding, remainders, the larger and the smaller."""

from sympy._expressions import Expr, Mul, Number, S, _made, _number, sympify


class Function(Expr):
    """A function of its arguments."""

    def __new__(cls, *args, evaluate=True):
        args = tuple(map(sympify, args))
        known = cls.eval(*args) if evaluate else None
        return _made(cls, args) if known is None else sympify(known)

    @classmethod
    def eval(cls, *args):
        """The value where it is known."""

    def _printed(self):
        return f"{type(self).__name__}({', '.join(map(str, self._args))})"

    __eq__, __hash__ = Expr.__eq__, Expr.__hash__


class Mod(Function):
    """The remainder, which has the sign of the divisor."""

    @classmethod
    def eval(cls, a, b):
        if isinstance(a, Number) and isinstance(b, Number) and b._value != 0:
            return _number(a._value % b._value)
        if a == b or b == S.One and a.is_integer:
            return S.Zero

    def _least(self):
        return 0 if self._args[1].is_positive else None


class floor(Function):
    """Rounded down."""

    @classmethod
    def eval(cls, a):
        if isinstance(a, Number):
            return a._value.__floor__()
        return a if a.is_integer else None

    is_integer = True

    def _least(self):
        return 0 if self._args[0].is_nonnegative else None


class ceiling(Function):
    """Rounded up."""

    @classmethod
    def eval(cls, a):
        if isinstance(a, Number):
            return a._value.__ceil__()
        return a if a.is_integer else None

    is_integer = True

    def _least(self):
        return 0 if self._args[0].is_nonnegative else None


class Abs(Function):
    """Without its sign."""

    @classmethod
    def eval(cls, a):
        return a if a.is_nonnegative else Mul(-1, a) if a.is_nonpositive else None

    def _least(self):
        return 0


def _extreme(cls, args, takes):
    kept, number = [], None
    for arg in args:
        for part in arg._args if isinstance(arg, cls) else (arg,):
            if isinstance(part, Number):
                number = part if number is None else _number(takes(number._value, part._value))
            elif part not in kept:
                kept.append(part)
    kept.sort(key=str)
    if number is not None:
        kept.insert(0, number)
    return kept


class Max(Function):
    """The largest."""

    def __new__(cls, *args, evaluate=True):
        kept = _extreme(cls, list(map(sympify, args)), max)
        # A number that another one surely reaches does not matter.
        if isinstance(kept[0], Number) and any((arg - kept[0]).is_nonnegative for arg in kept[1:]):
            del kept[0]
        return kept[0] if len(kept) == 1 else _made(cls, kept)

    def _least(self):
        known = [least for least in (arg._least() for arg in self._args) if least is not None]
        return max(known) if known else None


class Min(Function):
    """The smallest."""

    def __new__(cls, *args, evaluate=True):
        kept = _extreme(cls, list(map(sympify, args)), min)
        if isinstance(kept[0], Number) and len(kept) > 1:
            number = kept[0]
            kept = [number, *(arg for arg in kept[1:] if not (arg - number).is_nonnegative)]
        return kept[0] if len(kept) == 1 else _made(cls, kept)

    def _least(self):
        known = [arg._least() for arg in self._args]
        return None if None in known else min(known)
