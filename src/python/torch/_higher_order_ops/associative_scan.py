"""`associative_scan`: the running results of an associative function, neighbours first."""

import torch
from torch.utils._pytree import tree_leaves, tree_flatten, tree_map, tree_unflatten


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """`xs[0]`, `combine_fn(xs[0], xs[1])`, ... along a dimension."""
    leaves, spec = tree_flatten(xs)
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError("Dim must be an int, but got " + str(type(dim)))
    if not isinstance(reverse, bool):
        raise RuntimeError("Reverse must be a bool, but got " + str(type(reverse)))
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if any(not isinstance(x, torch.Tensor) for x in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if any(x.ndim <= dim for x in leaves):
        raise ValueError("All xs leaves must have at least 'dim + 1' dimensions")
    if combine_mode == "pointwise" and torch.compiler.is_compiling():
        raise NotImplementedError("associative_scan: combine_mode='pointwise' of a compiled function is not supported yet")
    dim %= leaves[0].ndim
    rows = [torch.movedim(elem, dim, 0) for elem in leaves]
    if reverse:
        rows = [torch.flip(elem, [0]) for elem in rows]
    axes = tree_unflatten([0] * len(rows), spec)
    batched = torch.vmap(combine_fn, in_dims=(axes, axes), out_dims=0)

    def combine(left, right):
        return tree_leaves(batched(tree_unflatten(left, spec), tree_unflatten(right, spec)))

    out = tree_unflatten(_scan(combine, rows), spec)
    if reverse:
        out = tree_map(lambda elem: elem.flip([0]), out)
    return tree_map(lambda elem: torch.movedim(elem, 0, dim), out)


def _scan(combine, elems):
    part = torch.ops.aten.slice
    count = elems[0].shape[0]
    if count < 2:
        return elems
    # Pairs of neighbours, and their running results: those at odd places.
    odd = _scan(combine, combine([part(elem, 0, 0, -1, 2) for elem in elems], [part(elem, 0, 1, None, 2) for elem in elems]))
    before = [part(e, 0, 0, -1) for e in odd] if count % 2 == 0 else odd
    even = combine(before, [part(e, 0, 2, None, 2) for e in elems])
    even = [_after_first(elem, result) for elem, result in zip(elems, even)]
    return [_interleave(a, b) for a, b in zip(even, odd)]


def _after_first(elem, result):
    first = torch.ops.aten.slice(elem, 0, 0, 1)
    return torch.cat([first, result], dim=0) if result.numel() > 0 else first


def _interleave(a, b):
    """Rows of the one and the other in turn; the first may have one more."""
    is_longer = a.shape[0] == b.shape[0] + 1
    if is_longer:
        b = torch.nn.functional.pad(b, [0] * (2 * b.ndim - 1) + [1])
    stacked = torch.stack([a, b], dim=1)
    interleaved = torch.flatten(stacked, start_dim=0, end_dim=1)
    return torch.ops.aten.slice(interleaved, 0, 0, b.shape[0] + a.shape[0] - 1) if is_longer else interleaved
