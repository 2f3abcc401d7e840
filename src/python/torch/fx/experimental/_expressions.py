"""Expressions of sizes as scripts see them (`SymInt.node.expr`, keys of `ShapeEnv.var_to_range`): texts that can be calculated with.

PyTorch's are sympy's. Here an expression is the text that PyTorch prints, with the symbolic number behind it, so that sums, products and
comparisons of expressions are those of numbers."""

import re

import torch

_SYMBOL = re.compile(r"\b(?:s|u|zf|zuf)\d+\b")


class Expr(str):
    """An expression; `_number` is the symbolic number or condition that it is."""

    _number = None
    is_Boolean = False

    def __new__(cls, text, number=None):
        made = super().__new__(cls, text)
        made._number = number
        return made

    __repr__ = str.__str__

    def __str__(self):
        return str.__str__(self)

    @property
    def free_symbols(self):
        """The symbols in it."""
        return {Symbol(name) for name in _SYMBOL.findall(self)}

    is_number = property(lambda self: not _SYMBOL.search(self), doc="Whether there are none.")
    is_symbol = property(lambda self: _SYMBOL.fullmatch(self) is not None, doc="Whether it is one.")
    is_integer = True

    def __int__(self):
        if not self.is_number:
            raise TypeError("Cannot convert symbols to int")
        return int(str.__str__(self))

    def subs(self, *values):
        """The expression with values in place of symbols."""
        given = values[0] if isinstance(values[0], dict) else dict([values])
        number = self._number if self._number is not None else self
        return _evaluated(number, {str(name): value for name, value in given.items()})

    xreplace = subs

    def _calculated(name):
        def forward(self, other):
            a, b = _number(self), _number(other)
            if a is None or b is None:
                return getattr(str, f"__{name}__")(self, other) if hasattr(str, f"__{name}__") else NotImplemented
            return of(getattr(a, f"__{name}__")(b) if type(a) is not int else _plain(name, a, b))

        def reflected(self, other):
            a, b = _number(other), _number(self)
            return NotImplemented if a is None or b is None else of(_plain(name, a, b))

        return forward, reflected

    for _name in ("add", "sub", "mul", "floordiv", "mod", "pow"):
        locals()[f"__{_name}__"], locals()[f"__r{_name}__"] = _calculated(_name)

    def _compared(name):
        def compare(self, other):
            a, b = _number(self), _number(other)
            if a is None or b is None:
                return getattr(str, f"__{name}__")(self, other)
            return of(_plain(name, a, b))

        return compare

    for _name in ("lt", "le", "gt", "ge"):
        locals()[f"__{_name}__"] = _compared(_name)
    del _name, _calculated, _compared

    def __neg__(self):
        return of(-_number(self))

    def __eq__(self, other):
        return str.__eq__(self, str(other)) if isinstance(other, (str, int)) else NotImplemented

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


class Symbol(Expr):
    """A symbol."""

    name = property(lambda self: str.__str__(self), doc="Its name.")
    is_Symbol = True


class Integer(Expr):
    """A number."""


class Zero(Integer):
    """Nothing."""


class One(Integer):
    """One."""


class Relational(Expr):
    """A condition."""

    is_Boolean = True

    def __bool__(self):
        raise TypeError(f"cannot determine truth value of Relational: {self}")


def _plain(name, a, b):
    import operator

    return getattr(operator, name)(a, b)


def _number(x):
    """The symbolic number of an expression; that of a symbol by its name alone is not known."""
    if isinstance(x, Expr):
        return int(x) if x.is_number and not x.is_Boolean else x._number
    return x if isinstance(x, int) and type(x) is not bool else None


def _evaluated(number, values):
    text = re.sub(r"\b(Eq|Ne)\((.*), ([^,]*)\)$", lambda m: f"({m[2]}) {'==' if m[1] == 'Eq' else '!='} ({m[3]})", str(number))
    names = {"Max": max, "Min": min, "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b}
    missing = [name for name in _SYMBOL.findall(text) if name not in values]
    if missing:
        raise NotImplementedError("substituting some of an expression's symbols is not available in the playground")
    made = eval(text, {"__builtins__": {}}, {**names, **{name: int(value) for name, value in values.items()}})
    return made if type(made) is bool else of(made)


def written(text, number):
    """The expression of a number that is written like this."""
    if type(number) is torch.SymBool:
        return Relational(text, number)
    if type(number) in (torch.SymInt, torch.SymFloat):
        return (Symbol if _SYMBOL.fullmatch(text) else Expr)(text, number)
    if type(number) is bool:
        return number
    return {0: Zero, 1: One}.get(number, Integer)(str(number), number)


def of(number):
    """A number's expression."""
    if isinstance(number, Expr):
        return number
    is_symbolic = type(number) in (torch.SymInt, torch.SymFloat, torch.SymBool)
    return written(number.node.text() if is_symbolic else "", number)


__all__ = ["Expr", "Integer", "One", "Relational", "Symbol", "Zero", "of"]
