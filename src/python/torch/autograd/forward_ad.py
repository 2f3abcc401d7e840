"""Forward-mode derivatives of tensors: dual numbers, which are tensors of a level with a tangent each."""

from typing import NamedTuple

import torch
from torch import _native_transforms as _native
from torch._tensor_str import PRINT_OPTS

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]

# The levels in force, innermost last: those that a script began, and those of `torch.func.jvp`.
_levels = []


class UnpackedDualTensor(NamedTuple):
    """A dual tensor's parts."""

    primal: torch.Tensor
    tangent: "torch.Tensor | None"


class _Level:
    """A level in force."""

    def __init__(self, number):
        self.number = number
        _levels.append(self)

    def leave(self):
        _levels.remove(self)
        _native._decrement_nesting()


def enter_dual_level():
    """Begins a level; gives its number."""
    if any(isinstance(level, _ScriptLevel) for level in _levels):
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _ScriptLevel(_native._jvp_increment_nesting())
    return 0


class _ScriptLevel(_Level):
    """A level that a script began."""


def is_dual_level(number):
    """Whether a level of transforms is one of dual tensors."""
    return any(level.number == number for level in _levels)


def _only_last(level):
    """A level that is named can only be the one that was begun last; PyTorch counts from zero and has one at a time."""
    if level not in (None, -1) and (not _levels or level != len(_levels) - 1):
        raise NotImplementedError(f"forward_ad with level={level!r} is not supported in the playground: it can only be the last one")


def exit_dual_level(*, level=None):
    """Ends the level: dual tensors become their primals."""
    _only_last(level)
    if not _levels or not isinstance(_levels[-1], _ScriptLevel):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created.")
    _levels[-1].leave()


def make_dual(tensor, tangent, *, level=None):
    """A dual tensor of a primal and a tangent."""
    _only_last(level)
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    return _native._make_dual(tensor, tangent)


def unpack_dual(tensor, *, level=None):
    """A dual tensor's primal and tangent; the tangent of any other tensor is None."""
    _only_last(level)
    if not _levels:
        return UnpackedDualTensor(tensor, None)
    number = _levels[-1].number
    parts = _native._unpack_dual(tensor)
    return UnpackedDualTensor(*(part if part is None else _native._unwrap_for_grad(part, number) for part in parts))


def in_level():
    """Whether a level is in force."""
    return bool(_levels)


def printed(tensor):
    """A dual tensor as PyTorch prints it: its primal, and the tangent behind it. None for any other tensor."""
    found = _native._level_of(tensor)
    if found is not None and not any(level.number == found[0] for level in _levels if isinstance(level, _ScriptLevel)):
        # What a transform's tensor stands for is printed, whatever it is to the transform.
        return None
    primal, tangent = unpack_dual(tensor)
    if tangent is None:
        return None if found is None else repr(found[2])
    text, suffix = repr(primal)[:-1], f"tangent={tangent!r}"
    width = PRINT_OPTS.linewidth
    fits = len(text) - text.rfind("\n") + 1 + len(suffix) + 2 <= width
    return text + (", " if fits else ",\n" + " " * len("tensor(")) + suffix + ")"


class dual_level:
    """A level for a block."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *args):
        exit_dual_level()
