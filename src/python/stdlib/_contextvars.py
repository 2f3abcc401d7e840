"""Context variables, for one thread."""

from types import GenericAlias

_MISSING = object()


class Context:
    """Values of context variables."""

    def __init__(self):
        self._values = {}
        self._previous = None

    def run(self, callable, *args, **kwargs):
        global _current
        if self._previous is not None:
            raise RuntimeError(f"cannot enter context: {self} is already entered")
        self._previous, _current = _current, self
        try:
            return callable(*args, **kwargs)
        finally:
            _current, self._previous = self._previous, None

    def copy(self):
        context = Context()
        context._values = dict(self._values)
        return context

    def get(self, variable, default=None):
        return self._values.get(variable, default)

    def __getitem__(self, variable):
        return self._values[variable]

    def __contains__(self, variable):
        return variable in self._values

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def keys(self):
        return self._values.keys()

    def values(self):
        return self._values.values()

    def items(self):
        return self._values.items()


_current = Context()


class Token:
    """What undoes a `set`."""

    MISSING = _MISSING
    __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, var, old_value):
        self.var = var
        self.old_value = old_value
        self._context = _current
        self._used = False

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.var.reset(self)


class ContextVar:
    """A variable whose value belongs to a context."""

    __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, name, *, default=_MISSING):
        if not isinstance(name, str):
            raise TypeError("context variable name must be a str")
        self.name = name
        self._default = default

    def get(self, default=_MISSING, /):
        value = _current._values.get(self, default)
        if value is _MISSING:
            value = self._default
        if value is _MISSING:
            raise LookupError(self)
        return value

    def set(self, value, /):
        token = Token(self, _current._values.get(self, _MISSING))
        _current._values[self] = value
        return token

    def reset(self, token, /):
        if token._used:
            raise RuntimeError(f"{token!r} has already been used once")
        if token.var is not self:
            raise ValueError(f"{token!r} was created by a different ContextVar")
        if token._context is not _current:
            raise ValueError(f"{token!r} was created in a different Context")
        token._used = True
        if token.old_value is _MISSING:
            _current._values.pop(self, None)
        else:
            _current._values[self] = token.old_value

    def __repr__(self):
        return f"<ContextVar name={self.name!r}>"


def copy_context():
    return _current.copy()
