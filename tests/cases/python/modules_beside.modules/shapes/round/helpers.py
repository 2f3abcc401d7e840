from .. import square
from ..circle import of


def describe(module):
    return f"{module.__name__}: {of(2)} {square.of(2)}"
