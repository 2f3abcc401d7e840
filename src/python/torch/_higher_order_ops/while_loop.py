"""`while_loop`: a function applied to what it gave, as long as another one says so."""

import torch
from torch import _native_compile
from torch._higher_order_ops._flat import Flat, checked, traced, wants_grad
from torch._higher_order_ops._node import as_one_node
from torch.utils._pytree import tree_flatten, tree_map


def while_loop(cond_fn, body_fn, carried_inputs):
    """Calls `body_fn` on what it returned, `carried_inputs` first, while `cond_fn` of it is true; under `torch.compile` both are
    captured."""
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"carried_inputs must be a tuple or list, got {type(carried_inputs)}")
    leaves, spec = tree_flatten(carried_inputs)
    if not all(isinstance(leaf, (torch.Tensor, torch.SymInt, int)) for leaf in leaves):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only"
            f"consists of tensor or int leaves, but got {carried_inputs}."
        )
    if _native_compile._is_in_trace():
        return traced(while_loop, cond_fn, body_fn, carried_inputs)
    if _native_compile._is_capturing() and wants_grad(leaves):
        _native_compile._leave_loop()
        if not _native_compile._is_capturing():
            with _native_compile._suspended():
                return as_one_node("WhileLoopAutogradOp", _run(cond_fn, body_fn, carried_inputs))
    if _native_compile._is_capturing():
        if any(type(leaf) is bool for leaf in leaves):
            raise NotImplementedError("while_loop: booleans as carried_inputs of a compiled loop are not supported yet")
        condition, body = (Flat("torch.while_loop", function, spec.unflatten) for function in (cond_fn, body_fn))
        return _native_compile._while_loop(condition, body, tuple(leaves), body.together)
    return as_one_node("WhileLoopAutogradOp", _run(cond_fn, body_fn, carried_inputs))


def _run(cond_fn, body_fn, carried_inputs):
    for function in (cond_fn, body_fn):
        _native_compile._refuse_side_effects("torch.while_loop", function)
    values = carried_inputs
    goes_on = _decides(cond_fn(*values))
    if not goes_on:
        return tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, carried_inputs)
    is_first = True
    while goes_on:
        # What its functions may not do, they do the first time.
        values = checked("torch.while_loop", body_fn, values, False) if is_first else body_fn(*values)
        if is_first:
            given, began = tree_flatten(values)[0], tree_flatten(carried_inputs)[0]
            _native_compile._check_carried("while_loop", "body_fn_output", "carried_inputs", given, began)
        is_first = False
        goes_on = _decides(cond_fn(*values))
    return values


def _decides(value):
    is_one = isinstance(value, torch.Tensor) and value.dim() == 0 and value.dtype == torch.bool
    if not is_one and not isinstance(value, bool):
        raise RuntimeError(f"cond_fn must return a boolean scalar tensor or a boolean but got {value}")
    return bool(value)
