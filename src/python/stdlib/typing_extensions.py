"""What newer Pythons have in `typing`, under its older name."""

from typing import *
import typing

for _name in dir(typing):
    if not _name.startswith("_"):
        globals()[_name] = getattr(typing, _name)


def deprecated(message, /, *, category=DeprecationWarning, stacklevel=1):
    """`warnings.deprecated`: marks what should no longer be called."""

    def mark(function):
        function.__deprecated__ = message
        return function

    return mark
