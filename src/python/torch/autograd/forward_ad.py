"""Forward-mode derivatives of tensors: dual numbers in a level.

A dual tensor is its primal plus a tangent times a number that is zero. What is computed from it depends on that number, and the
derivative with respect to it is the tangent: the product with a weight is differentiated by reverse mode, and that, which is linear
in the weight, once more."""

from typing import NamedTuple

import torch
from torch import _native_transforms as _native
from torch._functorch.eager_transforms import _gradients, _Level
from torch._tensor_str import PRINT_OPTS

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]

# The level in force and its number that is zero.
_current = []


class UnpackedDualTensor(NamedTuple):
    """A dual tensor's parts."""

    primal: torch.Tensor
    tangent: "torch.Tensor | None"


def enter_dual_level():
    """Begins a level; gives its number."""
    if _current:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    block = _Level()
    number = block.__enter__()
    zero = _native._set_tensor_requires_grad(_native._wrap_for_grad(torch.zeros((), dtype=torch.float64), number))
    _current.append((block, number, zero))
    return 0


def is_dual_level(number):
    """Whether a level of transforms is the one in force here."""
    return bool(_current) and _current[-1][1] == number


def exit_dual_level(*, level=None):
    """Ends the level: dual tensors become their primals."""
    if not _current:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created.")
    block, _, _ = _current.pop()
    block.__exit__(None, None, None)


def make_dual(tensor, tangent, *, level=None):
    """A dual tensor of a primal and a tangent."""
    if not _current:
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
    _, number, zero = _current[-1]
    primal = _native._wrap_for_grad(tensor, number)
    return primal + zero.to(tensor.dtype) * _native._wrap_for_grad(tangent, number)


def unpack_dual(tensor, *, level=None):
    """A dual tensor's primal and tangent; the tangent of any other tensor is None."""
    found = _native._level_of(tensor) if _current else None
    if found is None or found[0] != _current[-1][1] or not tensor.requires_grad:
        return UnpackedDualTensor(tensor if found is None else found[2], None)
    _, number, zero = _current[-1]
    weight = _native._wrap_for_grad(torch.ones_like(found[2]), number)
    _native._set_tensor_requires_grad(weight)
    (product,) = _gradients([tensor], [zero], [weight])
    if not product.requires_grad:
        return UnpackedDualTensor(found[2], None)
    (tangent,) = _gradients([product], [weight])
    return UnpackedDualTensor(found[2], _native._unwrap_for_grad(tangent, number))


def in_level():
    """Whether a level is in force."""
    return bool(_current)


def printed(tensor):
    """A dual tensor as PyTorch prints it: its primal, and the tangent behind it. None for any other tensor."""
    primal, tangent = unpack_dual(tensor)
    if tangent is None:
        return None
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
