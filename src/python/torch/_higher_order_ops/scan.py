"""`scan`: a value carried over the rows of tensors, with a result per row."""

import torch
from torch import _native_compile
from torch._higher_order_ops._flat import Flat, checked, in_rows, traced
from torch._higher_order_ops._node import as_one_node
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """`carry, y = combine_fn(carry, row)` for every row of `xs` along a dimension, `init` first: the last carry, and the rows `y`."""
    first, first_spec = tree_flatten(init)
    rows, rows_spec = tree_flatten(xs)
    if not any(isinstance(leaf, torch.Tensor) for leaf in rows):
        return init, []
    # What is carried becomes an input of a captured graph before what is gone over.
    for leaf in first:
        if not isinstance(leaf, torch.Tensor) or leaf.ndim is None:
            raise RuntimeError(f"All init leaves must be a Tensor but got {leaf}")
    _check(combine_fn, first, rows, dim, reverse)
    if _native_compile._is_in_trace():
        return traced(scan, combine_fn, init, xs, dim=dim, reverse=reverse)
    dim %= rows[0].ndim
    if dim != 0:
        rows = [torch.movedim(t, dim, 0) for t in rows]
    if reverse:
        rows = [torch.flip(t, [0]) for t in rows]

    def arguments(leaves):
        return tree_unflatten(leaves[: len(first)], first_spec), tree_unflatten(leaves[len(first) :], rows_spec)

    function = Flat("torch.ops.higher_order.scan", combine_fn, arguments)
    if _native_compile._is_capturing():
        # So does what the function reads from outside, by its cells.
        cells = [cell.cell_contents for cell in getattr(combine_fn, "__closure__", None) or ()]
        _native_compile._become_inputs(*first, *rows, *(t for t in cells if isinstance(t, torch.Tensor)))
        carry, out = _native_compile._scan(function, tuple(first), tuple(rows), function.together)
    else:
        carry, out = as_one_node("ScanAutogradOp", _run(function, first, rows))
    if reverse:
        out = tree_map(lambda t: t.flip([0]), out)
    if dim != 0:
        out = tree_map(lambda t: torch.movedim(t, 0, dim) if dim < t.ndim else t, out)
    return carry, out


def _check(combine_fn, first, rows, dim, reverse):
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError("Dim must be an int, but got " + str(type(dim)))
    if not isinstance(reverse, bool):
        raise RuntimeError("Reverse must be a bool, but got " + str(type(reverse)))
    if not first:
        raise RuntimeError("scan() operator requires init leaves.")
    for leaf in rows:
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError(f"All xs leaves must be a Tensor but got {leaf}")
    if any(t.ndim <= dim for t in rows):
        raise RuntimeError("All xs leaves must have at least 'dim + 1' dimensions")
    if any(t.shape[dim] != rows[0].shape[dim] for t in rows[1:]):
        raise RuntimeError("All xs leaves must have the same scan dimension size")


def _run(function, carry, rows):
    init, results = carry, []
    # Without rows, one of zeros says what they would be.
    given_rows = list(zip(*rows)) or [tuple(t.new_zeros(t.shape[1:]) for t in rows)]
    for row in given_rows:
        # What its function may not do, it does the first time.
        operands = (*carry, *row)
        leaves = function(*operands) if results else checked("torch.ops.higher_order.scan", function, operands, False)
        carry, given = leaves[: len(init)], leaves[len(init) :]
        if not results:
            _native_compile._check_carried("scan", "init", "carry", list(init), list(carry))
        results.append(given)
    out = in_rows(results)
    if not rows[0].shape[0]:
        carry, out = [t.clone() for t in init], tuple(t if t is None else t[:0] for t in out)
    return function.together([*carry, *out])
