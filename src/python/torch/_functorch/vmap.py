"""`vmap`: a function of one item, made a function of many at once."""

import functools

import torch
from torch import _native_compile
from torch import _native_transforms as _native
from torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten


def get_name(func):
    """How messages call a function."""
    return getattr(func, "__name__", repr(func))


def call_whole(transformed, args, kwargs):
    """Calls a transformed function. Dynamo captures the call as a whole or not at all."""
    if _native_compile._is_capturing():
        return _native_compile._transformed(transformed, args, kwargs)
    return transformed(*args, **kwargs)


def _touch_all(values):
    """Looks at tensors in order: that of the inputs of a captured graph."""
    for value in values:
        if isinstance(value, torch.Tensor):
            value.dim()


def _flat_inputs(in_dims, args, func):
    name = get_name(func)
    if not isinstance(in_dims, int) and not isinstance(in_dims, tuple):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}."
        )
    if len(args) == 0:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    flat_args, spec = tree_flatten(args)
    _touch_all(flat_args)
    flat_dims = _broadcast_to_and_flatten(in_dims, spec)
    if flat_dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. "
            f"in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    for place, (arg, dim) in enumerate(zip(flat_args, flat_dims)):
        if not isinstance(dim, int) and dim is not None:
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input but in_dim must be either an "
                "integer dimension or None."
            )
        if isinstance(dim, int) and not isinstance(arg, torch.Tensor):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input but the input is of type "
                f"{type(arg)}. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if dim is not None and (dim < -arg.dim() or dim >= arg.dim()):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for some input, but that input is a Tensor "
                f"of dimensionality {arg.dim()} so expected in_dim to satisfy -{arg.dim()} <= in_dim < {arg.dim()}."
            )
        if dim is not None and dim < 0:
            flat_dims[place] = dim % arg.dim()
    sizes = [arg.size(dim) for dim, arg in zip(flat_dims, flat_args) if dim is not None]
    if not sizes:
        raise ValueError("vmap: at least one input must be vmapped over: all in_dims are None")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return sizes[0], flat_dims, flat_args, spec


def _unwrapped(outputs, out_dims, level, size, func):
    flat, spec = tree_flatten(outputs)
    for output in flat:
        if not isinstance(output, torch.Tensor):
            raise ValueError(
                f"vmap({get_name(func)}, ...): `{get_name(func)}` must only return Tensors, got type {type(output)}. Did you "
                "mean to set out_dims= to None for output?"
            )
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None and isinstance(outputs, torch.Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    taken = [
        out if dim is None else _native._remove_batch_dim(out, level, size, dim) for out, dim in zip(flat, dims)
    ]
    return tree_unflatten(taken, spec)


def _map(func, size, flat_dims, flat_args, spec, out_dims, randomness, kwargs):
    level = _native._vmap_increment_nesting(size, randomness)
    try:
        batched = [
            arg if dim is None else _native._add_batch_dim(arg, dim, level) for arg, dim in zip(flat_args, flat_dims)
        ]
        return _unwrapped(func(*tree_unflatten(batched, spec), **kwargs), out_dims, level, size, func)
    finally:
        _native._decrement_nesting()


def _vmap(func, in_dims, out_dims, randomness, chunk_size, args, kwargs):
    size, flat_dims, flat_args, spec = _flat_inputs(in_dims, args, func)
    if chunk_size is None or chunk_size >= size:
        return _map(func, size, flat_dims, flat_args, spec, out_dims, randomness, kwargs)
    parts = []
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        chunk = [a if d is None else a.narrow(d, start, count) for a, d in zip(flat_args, flat_dims)]
        parts.append(_map(func, count, flat_dims, chunk, spec, out_dims, randomness, kwargs))
    flat = [tree_flatten(part) for part in parts]
    dims = _broadcast_to_and_flatten(out_dims, flat[0][1])
    return tree_unflatten([torch.cat(one, dim=d) for one, d in zip(zip(*(f for f, _ in flat)), dims)], flat[0][1])


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that maps `func` over dimensions of its inputs."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def wrapped(*args, **kwargs):
        return call_whole(_vmap, (func, in_dims, out_dims, randomness, chunk_size, args, kwargs), {})

    if not hasattr(func, "__name__"):
        wrapped.__name__ = repr(func)
    return wrapped


def _vmap_list(func, rows):
    """`func` of each row of the tensors of a list; gives the list of its results' stacks."""
    size = rows[0].size(0)
    level = _native._vmap_increment_nesting(size, "error")
    try:
        found = func(*(_native._add_batch_dim(row, 0, level) for row in rows))
        return [_native._remove_batch_dim(one, level, size, 0) for one in found]
    finally:
        _native._decrement_nesting()
