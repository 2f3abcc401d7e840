"""Operators with several named results return a tuple whose items have names: `torch.return_types.max`."""

_made = {}


def make(operator, names, values):
    cls = _made.get(operator)
    if cls is None:
        cls = _made[operator] = _class(operator, names)
    return tuple.__new__(cls, values)


def _class(operator, names):
    def __repr__(self):
        width = len(f"torch.return_types.{operator}(")
        parts = ",\n".join(f"{name}={value!r}" for name, value in zip(names, self))
        return f"torch.return_types.{operator}(\n{parts})"

    members = {name: property(lambda self, i=i: self[i]) for i, name in enumerate(names)}
    members.update(__repr__=__repr__, _fields=names, __module__="torch.return_types")
    return type(operator, (tuple,), members)
