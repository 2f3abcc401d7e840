"""Sizes in files of exported programs: texts of calls that make an expression of sympy's, read into symbolic numbers.

A text is taken apart into names, numbers and calls; nothing of it is run as Python."""

import math
import operator
import re

import torch
from torch.fx.experimental.symbolic_shapes import is_symbolic, sym_and, sym_or

_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*)|(-?\d+)|'([^']*)'|([(),=]))")
# How deep calls may lie in calls.
_DEPTH = 100


def _ceil_div(a, b):
    return -(-a // b)


def _folded(f):
    def call(first, *others):
        for other in others:
            first = f(first, other)
        return first

    return call


_CALLS = {
    "Add": _folded(operator.add), "Mul": _folded(operator.mul), "Max": _folded(torch.sym_max), "Min": _folded(torch.sym_min),
    "Pow": operator.pow, "PowByNatural": operator.pow, "FloatPow": operator.pow, "FloorDiv": operator.floordiv, "CleanDiv": operator.floordiv,
    "CeilDiv": _ceil_div, "Mod": operator.mod, "PythonMod": operator.mod, "ModularIndexing": lambda a, b, c: a // b % c,
    "LShift": operator.lshift, "RShift": operator.rshift, "IntTrueDiv": operator.truediv, "FloatTrueDiv": operator.truediv,
    "ToFloat": torch.sym_float, "TruncToInt": math.trunc, "FloorToInt": math.floor, "CeilToInt": math.ceil, "RoundToInt": round,
    "RoundDecimal": round, "Identity": lambda x: x, "Abs": abs, "Equality": operator.eq, "Unequality": operator.ne,
    "LessThan": operator.le, "StrictLessThan": operator.lt, "GreaterThan": operator.ge, "StrictGreaterThan": operator.gt,
    "Eq": operator.eq, "Ne": operator.ne, "And": sym_and, "Or": sym_or, "Not": torch.sym_not, "Integer": lambda n: n,
}  # fmt: skip
_NAMES = {"true": True, "false": False, "True": True, "False": False, "None": None}


class _Reader:
    def __init__(self, text, symbol):
        self.tokens, self.at, self.symbol = [], 0, symbol
        place = 0
        while place < len(text.rstrip()):
            found = _TOKEN.match(text, place)
            if found is None:
                raise ValueError(f"{text!r} is no expression")
            self.tokens.append(found.groups())
            place = found.end()
        self.text = text

    def wrong(self):
        return ValueError(f"{self.text!r} is no expression")

    def next(self):
        if self.at == len(self.tokens):
            raise self.wrong()
        self.at += 1
        return self.tokens[self.at - 1]

    def sign(self):
        return self.tokens[self.at][3] if self.at < len(self.tokens) else None

    def value(self, depth=0):
        name, number, text, _ = self.next()
        if depth > _DEPTH:
            raise self.wrong()
        if number is not None:
            return int(number)
        if text is not None:
            return text
        if name is None:
            raise self.wrong()
        if self.sign() != "(":
            if name not in _NAMES:
                raise self.wrong()
            return _NAMES[name]
        self.next()
        args, named = [], {}
        while self.sign() != ")":
            if args or named:
                if self.next()[3] != ",":
                    raise self.wrong()
            key = self.tokens[self.at][0] if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][3] == "=" else None
            if key is not None:
                self.at += 2
                named[key] = self.value(depth + 1)
            else:
                args.append(self.value(depth + 1))
        self.next()
        return self.called(name, args, named)

    def called(self, name, args, named):
        if name in ("Symbol", "Dummy"):
            return self.symbol(args[0], named)
        if name == "Float":
            return float(args[0])
        if name == "Rational":
            return args[0] / args[1]
        if name.startswith("OpaqueUnaryFn_") and name[14:] in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2"):
            return getattr(torch, f"_sym_{name[14:]}")(*args)
        if name not in _CALLS:
            raise NotImplementedError(f"the function {name} in a size of a program in a file is not available in the playground")
        return _CALLS[name](*args)


def read(text, symbol):
    """The number that a text stands for; `symbol(name, assumptions)` gives the symbols in it."""
    reader = _Reader(text, symbol)
    value = reader.value()
    if reader.at != len(reader.tokens) or not (is_symbolic(value) or isinstance(value, (int, float))):
        raise reader.wrong()
    return value


_SIGNS = {
    "LessThan": "<=", "StrictLessThan": "<", "GreaterThan": ">=", "StrictGreaterThan": ">", "Equality": "Eq", "Unequality": "Ne",
    "Eq": "Eq", "Ne": "Ne",
}  # fmt: skip


def condition_text(text, symbol):
    """How a comparison is printed, also where what is known of its sizes decides it; None of what is none."""
    found = re.fullmatch(r"(\w+)\((.*)\)", text)
    if found is None or found[1] not in _SIGNS:
        return None
    reader, sides = _Reader(found[2], symbol), []
    for _ in range(2):
        sides.append(reader.value())
        if reader.at < len(reader.tokens):
            reader.next()
    sign = _SIGNS[found[1]]
    return f"{sign}({sides[0]}, {sides[1]})" if sign in ("Eq", "Ne") else f"{sides[0]} {sign} {sides[1]}"


def names(text):
    """The symbols in a text."""
    return list(dict.fromkeys(re.findall(r"Symbol\('(\w+)'", text)))


def line(text, name):
    """`(factor, summand)` where the text's value is `factor * symbol + summand`; None where it is not, or has other symbols."""
    if names(text) != [name]:
        return None
    try:
        at = [read(text, lambda *_, n=n: n) for n in (0, 1, 2, 1001)]
    except (ArithmeticError, TypeError):
        return None
    summand, factor = at[0], at[1] - at[0]
    is_line = all(type(value) is int for value in at) and at[2] == summand + 2 * factor and at[3] == summand + 1001 * factor
    return (factor, summand) if is_line else None


__all__ = ["condition_text", "line", "names", "read"]
