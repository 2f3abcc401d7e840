"""`torch.cond`: one of two functions, chosen by a value."""

import torch
from torch import _native_compile
from torch._higher_order_ops._flat import Flat, checked, traced, uncaptured
from torch._higher_order_ops._node import as_one_node
from torch.utils._pytree import tree_flatten


def cond(pred, true_fn, false_fn, operands=()):
    """Calls `true_fn(*operands)` or `false_fn(*operands)`; under `torch.compile` both are captured."""
    if type(pred) is not torch.SymBool and isinstance(pred, (bool, int, float)):
        return (true_fn if pred else false_fn)(*operands)
    if not isinstance(pred, (torch.Tensor, torch.SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(isinstance(o, torch.Tensor) for o in tree_flatten(operands)[0]):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only "
            f"consists of tensor leaves, but got {operands}."
        )
    if _native_compile._is_in_trace():
        return traced(cond, pred, true_fn, false_fn, operands)
    if not _native_compile._is_capturing():
        return as_one_node("CondAutogradOp", checked("torch.cond", true_fn if pred else false_fn, operands))
    leaves, spec = tree_flatten(tuple(operands))
    branches = [Flat("torch.cond", function, spec.unflatten) for function in (true_fn, false_fn)]
    return _native_compile._cond(pred, *branches, tuple(leaves), lambda results: _together(branches, results))


def _together(branches, results):
    if branches[0].spec != branches[1].spec:
        uncaptured(
            "torch.cond: differing branch outputs\n  Higher Order Operator: torch.cond\n"
            "  Explanation: Expected branches to return the same pytree structure."
        )
    return branches[0].together(results)
