from . import circle, square
from .square import side as _side

loaded = sorted(name for name in dir() if not name.startswith("_"))


def total():
    return circle.of(1) + square.of(_side)
