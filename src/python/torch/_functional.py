"""Functional tensors by hand: writes to them leave the tensor that they stand for alone."""

import torch
from torch import _native_fake


def _to_functional_tensor(t, *, mirror_autograd_meta=False):
    return _native_fake.to_functional(t, torch.Tensor)


def _is_functional_tensor(t):
    return _native_fake.is_functional(t)


def _from_functional_tensor(t):
    if not _native_fake.is_functional(t):
        raise RuntimeError("expected a functional tensor: torch._to_functional_tensor makes one")
    return _native_fake.from_functional(t)


def _sync(t):
    if not _native_fake.is_functional(t):
        raise RuntimeError("expected a functional tensor: torch._to_functional_tensor makes one")
    _native_fake.from_functional(t)


def _enable_functionalization(*, reapply_views=False):
    _native_fake.functionalize_all(reapply_views, None)


def _disable_functionalization():
    _native_fake.functionalize_all(None, None)
