"""`map`: a function applied to every row of tensors."""

import torch
from torch import _native_compile
from torch._higher_order_ops._flat import Flat, in_rows, traced
from torch._higher_order_ops._node import as_one_node
from torch.utils._pytree import tree_flatten, tree_unflatten


def map(f, xs, *args):
    """The results of `f(row, *args)` for the rows of `xs`, in rows; under `torch.compile` the function is captured once."""
    if _native_compile._is_in_trace():
        return traced(map, f, xs, *args)
    rows, rows_spec = tree_flatten(xs)
    others, others_spec = tree_flatten(args)
    if not all(isinstance(t, torch.Tensor) for t in rows):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {rows}.")
    shapes = [t.shape for t in rows]
    if shapes[0][0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(shape[0] != shapes[0][0] for shape in shapes):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}.")

    def arguments(leaves):
        return tree_unflatten(leaves[: len(rows)], rows_spec), *tree_unflatten(leaves[len(rows) :], others_spec)

    function = Flat("torch.ops.higher_order.map_impl", f, arguments)
    if _native_compile._is_capturing():
        return _native_compile._map(function, tuple(rows), tuple(others), function.together)
    return as_one_node("MapAutogradOp", function.together(in_rows([function(*row, *others) for row in zip(*rows)])))
