"""What operators that take functions have in common: functions of leaves, which give leaves."""

import torch
from torch.utils._pytree import tree_flatten


class Flat:
    """A function of leaves. It keeps the containers that it gave last, and whether there were any."""

    def __init__(self, function, arguments):
        self.function = function
        self.arguments = arguments
        self.spec = None
        self.is_nested = False

    def __call__(self, *leaves):
        return self._take(self.function(*self.arguments(leaves)))

    def _take(self, result):
        leaves, self.spec = tree_flatten(result)
        self.is_nested = not self.spec.is_leaf()
        return tuple(leaves)

    def together(self, leaves):
        """Its result, of leaves."""
        return self.spec.unflatten(leaves)


def wants_grad(leaves):
    """Whether a call on these tensors has a derivative."""
    return torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in leaves)


def in_rows(results):
    """The results of several calls, each a tuple, as tensors with a row per call; nothing where there is nothing."""
    return tuple(None if column[0] is None else torch.stack(column) for column in zip(*results))
