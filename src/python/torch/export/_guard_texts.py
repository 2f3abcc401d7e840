"""Conditions on sizes of inputs as files of exported programs have them (`(L['x'].size()[0] % 2) == 0`): read, shown and asked.

They are taken apart into numbers, sizes and operators; nothing of them is run as Python."""

import operator
import re

_TOKEN = re.compile(r"\s*(?:(L(?:\['[^']*'\]|\[\d+\])+(?:\.(?:size|stride)\(\)\[\d+\])?)|(\d+)|([A-Za-z_]\w*)|(\*\*|//|==|!=|<=|>=|[-+*%/<>(),]))")
_COMPARE = {"==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_ADD = {"+": operator.add, "-": operator.sub}
_MUL = {"*": operator.mul, "//": operator.floordiv, "%": operator.mod, "/": operator.truediv}
_FUNCTIONS = {
    "Max": max, "Min": min, "Mod": operator.mod, "PythonMod": operator.mod, "FloorDiv": operator.floordiv, "abs": abs, "Abs": abs,
    "Eq": operator.eq, "Ne": operator.ne,
}  # fmt: skip
# How tightly what is written so binds, loosest first.
_OR, _AND, _NOT, _RELATION, _SUM, _PRODUCT, _SIGN, _POWER, _CLOSED = range(9)
_DEPTH = 100


class Condition:
    """A condition, or a part of one: how tightly its text binds, its text, the sizes in it and its value where those are known."""

    def __init__(self, binds, text, value, places=()):
        self.binds, self.text, self.value, self.places = binds, text, value, list(places)

    def within(self, binds):
        """Its text as an operand of what binds so tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


def _joined(binds, sign, call, a, b, left=None, right=None):
    text = f"{a.within(binds if left is None else left)} {sign} {b.within(binds + 1 if right is None else right)}"
    return Condition(binds, text, lambda sizes: call(a.value(sizes), b.value(sizes)), [*a.places, *b.places])


class _Reader:
    def __init__(self, text, shown):
        self.text, self.shown, self.tokens, self.at, self.depth = text, shown, [], 0, 0
        place = 0
        while place < len(text.rstrip()):
            found = _TOKEN.match(text, place)
            if found is None:
                raise self.wrong()
            self.tokens.append(found.groups())
            place = found.end()

    def wrong(self):
        return ValueError(f"{self.text!r} is no condition on sizes of inputs")

    def peek(self):
        token = self.tokens[self.at] if self.at < len(self.tokens) else (None,) * 4
        return token[2] or token[3]

    def take(self, *signs):
        sign = self.peek()
        if sign in signs:
            self.at += 1
            return sign
        return None

    def disjunction(self):
        made = self.conjunction()
        while self.take("or"):
            made = _joined(_OR, "or", lambda a, b: a or b, made, self.conjunction())
        return made

    def conjunction(self):
        made = self.negation()
        while self.take("and"):
            made = _joined(_AND, "and", lambda a, b: a and b, made, self.negation())
        return made

    def negation(self):
        if self.take("not"):
            of = self.negation()
            return Condition(_NOT, f"not {of.within(_NOT)}", lambda sizes: not of.value(sizes), of.places)
        return self.relation()

    def relation(self):
        made = self.sum()
        sign = self.take(*_COMPARE)
        return made if sign is None else _joined(_RELATION, sign, _COMPARE[sign], made, self.sum(), _SUM, _SUM)

    def sum(self):
        made = self.product()
        while sign := self.take(*_ADD):
            made = _joined(_SUM, sign, _ADD[sign], made, self.product())
        return made

    def product(self):
        made = self.signed()
        while sign := self.take(*_MUL):
            made = _joined(_PRODUCT, sign, _MUL[sign], made, self.signed())
        return made

    def signed(self):
        if self.take("-"):
            of = self.signed()
            return Condition(_SIGN, f"-{of.within(_SIGN)}", lambda sizes: -of.value(sizes), of.places)
        made = self.closed()
        if self.take("**"):
            return _joined(_POWER, "**", _power, made, self.signed(), _CLOSED, _SIGN)
        return made

    def closed(self):
        if self.at == len(self.tokens) or self.depth > _DEPTH:
            raise self.wrong()
        place, number, name, sign = self.tokens[self.at]
        self.at += 1
        if place is not None:
            return Condition(_CLOSED, self.shown(place), lambda sizes: sizes[place], [place])
        if number is not None:
            return Condition(_CLOSED, number, lambda sizes, number=int(number): number)
        self.depth += 1
        if sign == "(":
            made = self.disjunction()
            if not self.take(")"):
                raise self.wrong()
            self.depth -= 1
            return made
        if name in ("True", "False"):
            return Condition(_CLOSED, name, lambda sizes: name == "True")
        if name not in _FUNCTIONS or not self.take("("):
            raise self.wrong()
        args = [self.disjunction()]
        while self.take(","):
            args.append(self.disjunction())
        if not self.take(")"):
            raise self.wrong()
        self.depth -= 1
        text = f"{name}({', '.join(arg.text for arg in args)})"
        return Condition(_CLOSED, text, lambda sizes: _FUNCTIONS[name](*(arg.value(sizes) for arg in args)), [p for arg in args for p in arg.places])


def _power(a, b):
    if abs(b) > 64:
        raise ValueError("a power of a size is too large")
    return a**b


def read(text, shown):
    """A condition; `shown` says how the place of an input, or of one of its sizes, is called."""
    reader = _Reader(text, shown)
    made = reader.disjunction()
    if reader.at != len(reader.tokens):
        raise reader.wrong()
    return made


__all__ = ["Condition", "read"]
