"""Kinds of `torch.func` transforms, as operators name them."""

import enum


class TransformType(enum.Enum):
    """A kind of transform."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4
