"""Initial values of parameters. Each function fills its tensor in place, unrecorded, and draws in PyTorch's order."""

import math

import torch

__all__ = [
    "calculate_gain", "uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_",
    "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_",
]  # fmt: skip

_DEPRECATED = (
    "uniform", "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform",
    "kaiming_normal", "orthogonal", "sparse",
)  # fmt: skip
_LINEAR = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid",
)  # fmt: skip


def __getattr__(name):
    if name not in _DEPRECATED:
        from torch._absent import attribute_error

        raise attribute_error("torch.nn.init", name)
    current = globals()[name + "_"]

    def deprecated_init(*args, **kwargs):
        import warnings

        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2
        )
        return current(*args, **kwargs)

    deprecated_init.__name__ = name
    return deprecated_init


def _warn(message):
    import warnings

    warnings.warn(message, stacklevel=3)


def calculate_gain(nonlinearity, param=None):
    """The standard deviation that keeps variance through a nonlinearity."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Draws from U(a, b)."""
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Draws from N(mean, std**2)."""
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Draws from N(mean, std**2) cut off at a and b, by rejection."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        _warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )

    def cdf(x):
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    with torch.no_grad():
        if cdf((b - mean) / std) - cdf((a - mean) / std) > 0.3:
            _redraw_normal(tensor, mean, std, a, b, generator)
        else:
            _redraw_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _redraw_normal(tensor, mean, std, a, b, generator):
    """Draws normal values again while any is outside."""
    low, high = tensor.new_tensor(a, device="cpu").item(), tensor.new_tensor(b, device="cpu").item()
    result = tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (result < low) | (result > high)
        if not outside.any():
            break
        result = torch.where(outside, torch.empty_like(result).normal_(mean, std, generator=generator), result)
    if result is not tensor:
        tensor.copy_(result)


def _redraw_uniform(tensor, mean, std, a, b, generator):
    """Draws uniform values and accepts each with its density relative to the peak in [a, b]."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    candidates, accept = torch.empty_like(tensor), torch.empty_like(tensor)

    def log_density():
        return candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)

    tensor.uniform_(a, b, generator=generator)
    candidates.copy_(tensor)
    density = log_density()
    pending = accept.uniform_(generator=generator).log_().gt(density)
    if not pending.any():
        return
    result = tensor
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        result = torch.where(pending, candidates, result)
        density = log_density()
        pending = torch.where(pending, accept.uniform_(generator=generator).log_().gt(density), pending)
    tensor.copy_(result)


def constant_(tensor, val):
    """Fills with `val`."""
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Fills with ones."""
    with torch.no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor):
    """Fills with zeros."""
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor):
    """The identity matrix."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        torch.eye(*tensor.shape, out=tensor, requires_grad=tensor.requires_grad)
    return tensor


def dirac_(tensor, groups=1):
    """A convolution weight that gives its input back."""
    ndim = tensor.ndimension()
    if ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    per_group = sizes[0] // groups
    centre = tuple(size // 2 for size in sizes[2:])
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, sizes[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = 1
    for size in tensor.shape[2:]:
        field *= size
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    valid = ["fan_in", "fan_out"]
    if mode not in valid:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid}")
    return _calculate_fan_in_and_fan_out(tensor)[valid.index(mode)]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Glorot's uniform initialization."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Glorot's normal initialization."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He's uniform initialization."""
    if 0 in tensor.shape:
        _warn("Initializing zero-element tensors is a no-op")
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He's normal initialization."""
    if 0 in tensor.shape:
        _warn("Initializing zero-element tensors is a no-op")
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


def orthogonal_(tensor, gain=1, generator=None):
    """A (semi-)orthogonal matrix."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    shape = (tensor.size(0), tensor.numel() // tensor.size(0))
    drawn = tensor.new_empty(shape).normal_(0, 1, generator=generator)
    # Columns are made orthogonal, or rows, where there are fewer of them.
    is_wide = shape[0] < shape[1]
    q, r = torch.linalg.qr(drawn.t_() if is_wide else drawn)
    q *= torch.diag(r, 0).sign()
    if is_wide:
        q.t_()
    with torch.no_grad():
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal values, a fraction of each column zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor
