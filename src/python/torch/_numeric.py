"""Functions of tensors that are other functions put together: `gradient`, `histogram`, `histogramdd`, `range`."""

import torch
from torch import _native_compile
from torch._results import make


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Central differences along dimensions; one-sided ones at the edges."""
    dims = tuple(_counting(input.dim())) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient expected edge_order to be 1 or 2, but got {edge_order}")
    spacing = 1 if spacing is None else spacing
    several = isinstance(spacing, (list, tuple))
    if several and len(spacing) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same "
            f"length, but got a spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}."
        )
    for one in dims:
        if input.shape[one] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if not (input.is_floating_point() or input.is_complex()):
        input = input.to(torch.get_default_dtype())
    return tuple(_differences(input, spacing[at] if several else spacing, one, edge_order) for at, one in enumerate(dims))


# `range` is PyTorch's below.
_counting = range


def _differences(f, spacing, dim, edge_order):
    n = f.shape[dim]

    def at(start, stop):
        return f.narrow(dim, start, stop - start)

    if not isinstance(spacing, torch.Tensor) or spacing.dim() == 0:
        inner = (at(2, n) - at(0, n - 2)) / (2 * spacing)
        if edge_order == 1:
            first, last = (at(1, 2) - at(0, 1)) / spacing, (at(n - 1, n) - at(n - 2, n - 1)) / spacing
        else:
            first = (-1.5 * at(0, 1) + 2 * at(1, 2) - 0.5 * at(2, 3)) / spacing
            last = (1.5 * at(n - 1, n) - 2 * at(n - 2, n - 1) + 0.5 * at(n - 3, n - 2)) / spacing
        return torch.cat([first, inner, last], dim)
    shape = [1] * f.dim()
    shape[dim] = -1
    steps = spacing.diff().to(f.dtype).view(shape)

    def step(start, stop):
        return steps.narrow(dim, start, stop - start)

    before, after = step(0, n - 2), step(1, n - 1)
    inner = (
        at(0, n - 2) * (-after / (before * (before + after)))
        + at(1, n - 1) * ((after - before) / (before * after))
        + at(2, n) * (before / (after * (before + after)))
    )
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / step(0, 1)
        last = (at(n - 1, n) - at(n - 2, n - 1)) / step(n - 2, n - 1)
        return torch.cat([first, inner, last], dim)

    def edge(near, middle, far, one, two):
        return near * (-(2 * one + two) / (one * (one + two))) + middle * ((one + two) / (one * two)) - far * (one / (two * (one + two)))

    first = edge(at(0, 1), at(1, 2), at(2, 3), step(0, 1), step(1, 2))
    last = -edge(at(n - 1, n), at(n - 2, n - 1), at(n - 3, n - 2), step(n - 2, n - 1), step(n - 3, n - 2))
    return torch.cat([first, inner, last], dim)


def _edges(column, bins, limits):
    low, high = limits
    if low == high:
        low, high = low - 0.5, high + 0.5
    return torch.linspace(low, high, bins + 1, dtype=column.dtype)


def _places(column, edges):
    """In which bin each number falls; -1 outside. The last bin has its upper edge."""
    place = torch.searchsorted(edges, column.contiguous(), right=True) - 1
    last = edges.numel() - 1
    place = torch.where(column == edges[-1], last - 1, place)
    return torch.where((place < 0) | (place >= last), -1, place)


def _limits(column, given):
    if given is not None:
        return tuple(float(v) for v in given)
    if column.numel() == 0:
        return 0.0, 1.0
    return float(column.min()), float(column.max())


def histogram(input, bins, *, range=None, weight=None, density=False):
    """How many numbers fall between edges."""
    flat = input.reshape(-1)
    edges = bins if isinstance(bins, torch.Tensor) else _edges(flat, bins, _limits(flat, range))
    place = _places(flat, edges)
    counted = place >= 0
    amounts = torch.ones_like(flat) if weight is None else weight.reshape(-1).to(flat.dtype)
    hist = torch.zeros(edges.numel() - 1, dtype=flat.dtype).index_add(0, place[counted], amounts[counted])
    if density:
        hist = hist / hist.sum() / edges.diff()
    return make("histogram", ("hist", "bin_edges"), (hist, edges))


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """How many points, given in the last dimension, fall between edges."""
    points = input.reshape(-1, input.shape[-1])
    width = points.shape[1]
    bins = [bins] * width if isinstance(bins, int) else list(bins)
    if len(bins) != width:
        raise RuntimeError(
            f"torch.histogramdd: expected {width} sequences of bin edges for a {width}-dimensional histogram but got {len(bins)}"
        )
    edges, place, counted = [], torch.zeros(points.shape[0], dtype=torch.int64), torch.ones(points.shape[0], dtype=torch.bool)
    for at, one in enumerate(bins):
        column = points[:, at]
        given = None if range is None else range[2 * at : 2 * at + 2]
        edges.append(one if isinstance(one, torch.Tensor) else _edges(column, one, _limits(column, given)))
        own = _places(column, edges[-1])
        counted, place = counted & (own >= 0), place * (edges[-1].numel() - 1) + own
    amounts = torch.ones(points.shape[0], dtype=input.dtype) if weight is None else weight.reshape(-1).to(input.dtype)
    shape = [one.numel() - 1 for one in edges]
    hist = torch.zeros(torch.Size(shape).numel(), dtype=input.dtype).index_add(0, place[counted], amounts[counted]).view(shape)
    if density:
        hist = hist / hist.sum()
        for at, one in enumerate(edges):
            hist = hist / one.diff().view([-1 if d == at else 1 for d, _ in enumerate(edges)])
    return make("histogramdd", ("hist", "bin_edges"), (hist, tuple(edges)))


def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Numbers up to and including the end."""
    import warnings

    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    start, end = (0, start) if end is None else (start, end)
    count = int((end - start) / step) + 1
    values = start + step * torch.arange(count, dtype=torch.float64)
    from torch._arguments import unobeyed

    unobeyed("torch.range", layout=(layout, None))
    values = values.to(dtype or torch.get_default_dtype()).to(device or torch.get_default_device())
    return values.requires_grad_(requires_grad) if out is None else out.resize_as_(values).copy_(values)


def _assert(condition, message):
    """A check that stays in traced graphs."""
    if isinstance(condition, torch.Tensor) and _native_compile._is_compiling():
        return torch._assert_async(condition, message)
    if not isinstance(condition, (torch.Tensor, bool)) and hasattr(type(condition), "__torch_function__"):
        return torch.overrides.handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)


# Graphs name it by where scripts find it.
_assert.__module__ = "torch"
