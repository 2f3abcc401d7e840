"""Indices of numpy's as those of tensors."""

import torch
from torch._numpy._operands import cast, is_number, plain, tensor


def _wide(item):
    """Positions as PyTorch takes them."""
    short = isinstance(item, torch.Tensor) and item.dtype in (torch.int8, torch.int16, torch.int32, torch.uint8)
    return item.to(torch.int64) if short else item


def _is_advanced(item):
    return isinstance(item, (list, tuple, bool)) or isinstance(item, torch.Tensor) and (item.dtype is torch.bool or item.ndim > 0)


def _among_arrays(items):
    """Beside arrays numpy takes a number for an array of one."""
    if not any(map(_is_advanced, items)):
        return items
    is_position = lambda i: (
        type(i) is int or isinstance(i, torch.Tensor) and i.ndim == 0 and not i.is_floating_point() and i.dtype is not torch.bool
    )
    return tuple([item] if is_position(item) else item for item in items)


def _depth(item):
    """How many axes an item of an index takes up."""
    if isinstance(item, torch.Tensor) and item.dtype is torch.bool:
        return item.ndim
    if isinstance(item, bool):
        return 0
    if isinstance(item, (list, tuple)) and item and isinstance(item[0], bool):
        return 1
    return 0 if item is None or item is Ellipsis else 1


def _apart(items, dims):
    """Arrays on both sides of an ellipsis that stands for no axis are apart all the same: a new axis takes its place. With it, counted
    from the back, comes where that is in the result."""
    at = next((i for i, item in enumerate(items) if item is Ellipsis), None)
    if at is None or dims != sum(map(_depth, items)):
        return items, None
    before, after = items[:at], items[at + 1 :]
    if not (any(map(_is_advanced, before)) and any(map(_is_advanced, after))):
        return items, None
    return (*before, None, *after), -1 - sum(isinstance(item, slice) for item in after)


def _items(index, dims):
    items = index if isinstance(index, tuple) else (index,)
    return _apart(_among_arrays(tuple(map(_wide, items))), dims)


def getitem(a, index):
    """The elements at an index. What numpy runs through backwards is turned round first."""
    t = tensor(a)
    items = list(index) if isinstance(index, tuple) else [index]
    for axis, item in enumerate(items):
        if isinstance(item, slice) and item.step is not None and item.step < 0:
            t = torch.flip(t, (axis,))
            items[axis] = slice(item.stop + 1 if item.stop else None, item.start + 1 if item.start else None, -item.step)
    items, axis = _items(plain(tuple(items)), t.ndim)
    found = t[items if len(items) != 1 else items[0]]
    return found if axis is None else found.squeeze(axis)


def setitem(a, index, value):
    """Writes elements at an index."""
    t = tensor(a)
    (items, axis), value = _items(plain(index), t.ndim), plain(value)
    if not is_number(value):
        value = cast(tensor(value), t.dtype)
        value = value.unsqueeze(axis) if axis is not None and value.ndim >= -axis else value
    t[items if len(items) != 1 else items[0]] = value
