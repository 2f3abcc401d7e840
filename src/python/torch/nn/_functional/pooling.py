"""Pooling and its reverse."""

__dynamo__ = "functions"

import torch
from torch._C import _nn
from torch.nn._functional import functional
from torch.nn.functional import avg_pool1d, avg_pool2d, avg_pool3d
from torch.nn.modules.utils import _list_with_default, _pair, _single, _triple


def _max_pool(name, values, with_indices):
    """The pair of public functions: values and indices, and values unless the indices are asked for."""

    def both(
        input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
    ):
        return with_indices()(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)

    def pool(
        input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
    ):
        chosen = with_indices if return_indices else values
        return chosen()(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)

    both.__name__ = both.__qualname__ = name + "_with_indices"
    pool.__name__ = pool.__qualname__ = name
    return functional(pool), functional(both)


max_pool1d, max_pool1d_with_indices = _max_pool(
    "max_pool1d", lambda: torch.max_pool1d, lambda: torch.max_pool1d_with_indices
)
max_pool2d, max_pool2d_with_indices = _max_pool(
    "max_pool2d", lambda: torch.max_pool2d, lambda: _nn.max_pool2d_with_indices
)
max_pool3d, max_pool3d_with_indices = _max_pool(
    "max_pool3d", lambda: torch.max_pool3d, lambda: _nn.max_pool3d_with_indices
)


def _adaptive_max_pool(name, operator, open_sizes):
    def both(input, output_size, return_indices=False):
        size = _list_with_default(output_size, input.size()) if open_sizes else output_size
        return operator()(input, size)

    def pool(input, output_size, return_indices=False):
        result = both(input, output_size)
        return result if return_indices else result[0]

    both.__name__ = both.__qualname__ = name + "_with_indices"
    pool.__name__ = pool.__qualname__ = name
    return functional(pool), functional(both)


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(
    "adaptive_max_pool1d", lambda: torch.adaptive_max_pool1d, False
)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(
    "adaptive_max_pool2d", lambda: _nn.adaptive_max_pool2d, True
)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(
    "adaptive_max_pool3d", lambda: _nn.adaptive_max_pool3d, True
)


@functional
def adaptive_avg_pool2d(input, output_size):
    """Averages over as many windows as the output has elements."""
    return _nn.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


@functional
def adaptive_avg_pool3d(input, output_size):
    """Averages over as many windows as the output has elements."""
    return _nn.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


def _fractional_sizes(name, parse, input, output_size, output_ratio, _random_samples):
    ndim = len(parse(0))
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if ndim == 2 and not isinstance(output_ratio, (int, float)) and len(output_ratio) > 2:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        ratios = parse(output_ratio)
        output_size = [int(input.size(place - ndim) * ratio) for place, ratio in enumerate(ratios)]
    if _random_samples is None:
        batch = 1 if input.dim() == ndim + 1 else input.size(0)
        _random_samples = torch.rand(batch, input.size(-ndim - 1), ndim, dtype=input.dtype, device=input.device)
    return output_size, _random_samples


def _fractional_max_pool(name, parse, operator):
    def both(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        size, samples = _fractional_sizes(name, parse, input, output_size, output_ratio, _random_samples)
        return operator()(input, kernel_size, size, samples)

    def pool(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        result = both(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
        return result if return_indices else result[0]

    both.__name__ = both.__qualname__ = name + "_with_indices"
    pool.__name__ = pool.__qualname__ = name
    return functional(pool), functional(both)


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(
    "fractional_max_pool2d", _pair, lambda: _nn.fractional_max_pool2d
)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(
    "fractional_max_pool3d", _triple, lambda: _nn.fractional_max_pool3d
)


def _unpool_size(input, kernel_size, stride, padding, output_size):
    ndim = len(kernel_size)
    default = [
        (input.size(place - ndim) - 1) * stride[place] + kernel_size[place] - 2 * padding[place]
        for place in range(ndim)
    ]
    if output_size is None:
        result = default
    else:
        if len(output_size) == ndim + 2:
            output_size = output_size[2:]
        if len(output_size) != ndim:
            raise ValueError(
                f"output_size should be a sequence containing {ndim} or {ndim + 2} elements, but it has a length of "
                f"'{len(output_size)}'"
            )
        for place in range(ndim):
            low, high = default[place] - stride[place], default[place] + stride[place]
            if not low < output_size[place] < high:
                raise ValueError(
                    f'invalid output_size "{output_size}" (dim {place} must be between {low} and {high})'
                )
        result = output_size
    for place, extent in enumerate(result):
        if extent < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{place}]={extent}"
            )
    return list(result)


@functional
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts values back where `max_pool1d` found them."""
    kernel_size = _single(kernel_size)
    stride = kernel_size if stride is None else _single(stride)
    size = _unpool_size(input, kernel_size, stride, _single(padding), output_size)
    return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size + [1]).squeeze(-1)


@functional
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts values back where `max_pool2d` found them."""
    kernel_size = _pair(kernel_size)
    stride = kernel_size if stride is None else _pair(stride)
    return _nn.max_unpool2d(input, indices, _unpool_size(input, kernel_size, stride, _pair(padding), output_size))


@functional
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts values back where `max_pool3d` found them."""
    kernel_size = _triple(kernel_size)
    stride = kernel_size if stride is None else _triple(stride)
    padding = _triple(padding)
    size = _unpool_size(input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool3d(input, indices, size, stride, padding)


def _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, average, largest, count):
    if isinstance(norm_type, (int, float)):
        if norm_type == 0:
            raise ValueError(f"norm_type must be a non-zero value, but got {norm_type}")
        if norm_type == float("inf"):
            return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        if norm_type == -float("inf"):
            return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    # Without a stride windows lie side by side.
    places, named = ((), {"padding": 0, "ceil_mode": ceil_mode}) if stride is None else ((stride, 0, ceil_mode), {})
    out = average(input.pow(norm_type), kernel_size, *places, **named)
    return (torch.sign(out) * torch.relu(torch.abs(out))).mul(count).pow(1.0 / norm_type)


@functional
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm over windows."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, avg_pool1d, max_pool1d, kernel_size)


@functional
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm over windows."""
    width, height = _pair(kernel_size)
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, avg_pool2d, max_pool2d, width * height)


@functional
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm over windows."""
    depth, width, height = _triple(kernel_size)
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, avg_pool3d, max_pool3d, depth * width * height)
