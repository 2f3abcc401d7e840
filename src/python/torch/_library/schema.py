"""Signatures as scripts see them: `overload._schema`."""

import re

# Namespaces that belong to PyTorch.
RESERVED = ("prim",)


class _Alias:
    def __init__(self, text):
        self.is_write = "!" in text
        self.before_set = self.after_set = {text.rstrip("!")}

    def __repr__(self):
        return f"{{{', '.join(sorted(self.before_set))}{'!' if self.is_write else ''}}}"


def _type(text):
    """A type without its alias set, and the alias set."""
    found = re.search(r"\(([^)]*)\)", text)
    return re.sub(r"\([^)]*\)", "", text), _Alias(found.group(1)) if found else None


def _split(text):
    parts, depth, start, quoted = [], 0, 0, False
    for place, char in enumerate(text):
        if char in "\"'":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _parts(text):
    """Name, arguments and results of a signature."""
    head, _, results = text.rpartition("->")
    name, _, arguments = head.partition("(")
    results = results.strip()
    inner = results[1:-1] if results.startswith("(") and results.endswith(")") else results
    return name.strip(), _split(arguments.rstrip()[:-1]), _split(inner)


def _default(text, kind):
    import torch

    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[":
        return [_default(item, kind) for item in _split(text[1:-1])]
    if kind.startswith("ScalarType"):
        return getattr(torch, text, None)
    if kind.startswith("MemoryFormat"):
        return getattr(torch, text)
    try:
        number = float(text)
    except ValueError:
        return text
    return int(text) if re.fullmatch(r"-?\d+", text) and not kind.startswith("float") else number


def canonical(text):
    """A signature as PyTorch prints it back: `float alpha=1.` for `float alpha=1.0`."""
    name, arguments, results = _parts(text)
    if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
        raise RuntimeError(f"expected an operator's name, but found '{name}' here:\n{text}")
    written = []
    for argument in arguments:
        head, equals, default = argument.partition("=")
        default = default.strip()
        if head.startswith("float") and re.fullmatch(r"-?\d+(\.0*)?", default):
            default = f"{int(float(default))}."
        written.append(f"{head.strip()}={default}" if equals else head.strip())
    is_tuple = len(results) != 1 or text.rpartition("->")[2].strip().startswith("(")
    returned = f"({', '.join(results)})" if is_tuple else results[0]
    return f"{name}({', '.join(written)}) -> {returned}"


class Argument:
    """An argument of a signature."""

    def __init__(self, text, kwarg_only):
        head, equals, default = text.partition("=")
        kind, _, self.name = head.strip().rpartition(" ")
        self.type_text, self.alias_info = _type(kind)
        self.type = self.real_type = self.type_text
        self.kwarg_only, self.is_out = kwarg_only, False
        self._has_default = bool(equals)
        self.default_value = _default(default.strip(), self.type_text) if equals else None

    def has_default_value(self):
        """Whether the argument may be left out."""
        return self._has_default


class Return:
    """A result of a signature."""

    def __init__(self, text):
        kind, _, name = text.rpartition(" ")
        self.name = name if kind else ""
        self.type_text, self.alias_info = _type(kind or text)
        self.type = self.real_type = self.type_text


class FunctionSchema:
    """The signature of an overload."""

    def __init__(self, namespace, text):
        self._text = f"{namespace}::{text}"
        name, arguments, results = _parts(text)
        base, _, self.overload_name = name.partition(".")
        self.name = f"{namespace}::{base}"
        self.arguments, kwarg_only = [], False
        for argument in arguments:
            if argument == "*":
                kwarg_only = True
            else:
                self.arguments.append(Argument(argument, kwarg_only))
        self.returns = [Return(result) for result in results]

    @property
    def is_mutable(self):
        """Whether it writes to an argument."""
        return any(argument.alias_info is not None and argument.alias_info.is_write for argument in self.arguments)

    def __str__(self):
        return self._text

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and self._text == other._text

    def __hash__(self):
        return hash(self._text)
