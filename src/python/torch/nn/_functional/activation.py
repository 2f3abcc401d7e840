"""Activations, softmax and dropout."""

__dynamo__ = "functions"

import torch
from torch._C import _nn
from torch.nn._functional import functional, warn


@functional
def threshold(input, threshold, value, inplace=False):
    """`input` where it is above `threshold`, else `value`."""
    return (torch.threshold_ if inplace else torch.threshold)(input, threshold, value)


@functional
def relu(input, inplace=False):
    """`max(0, input)`."""
    return torch.relu_(input) if inplace else torch.relu(input)


@functional
def glu(input, dim=-1):
    """One half of `input` gated by the other."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


@functional
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Clamps to a range."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (_nn.hardtanh_ if inplace else _nn.hardtanh)(input, min_val, max_val)


@functional
def relu6(input, inplace=False):
    """`min(max(0, input), 6)`."""
    return (_nn.relu6_ if inplace else _nn.relu6)(input)


@functional
def elu(input, alpha=1.0, inplace=False):
    """Exponential below zero."""
    return (_nn.elu_ if inplace else _nn.elu)(input, alpha)


@functional
def selu(input, inplace=False):
    """A self-normalizing ELU."""
    return (torch.selu_ if inplace else torch.selu)(input)


@functional
def celu(input, alpha=1.0, inplace=False):
    """A continuously differentiable ELU."""
    return (torch.celu_ if inplace else torch.celu)(input, alpha)


@functional
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """A ReLU with a small slope below zero."""
    return (_nn.leaky_relu_ if inplace else _nn.leaky_relu)(input, negative_slope)


@functional
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """A leaky ReLU with a drawn slope."""
    return (torch.rrelu_ if inplace else torch.rrelu)(input, lower, upper, training)


@functional
def tanhshrink(input):
    """`input - tanh(input)`."""
    return input - input.tanh()


@functional
def softsign(input):
    """`input / (1 + |input|)`."""
    return input / (input.abs() + 1)


def _get_softmax_dim(name, ndim, stacklevel):
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


@functional
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """The softmax of the negated input."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


@functional
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """Exponentials that sum to one along `dim`."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


@functional
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of the softmax."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


@functional
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Draws from the Gumbel-softmax distribution."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


@functional
def tanh(input):
    """The hyperbolic tangent."""
    return input.tanh()


@functional
def sigmoid(input):
    """The logistic function."""
    return input.sigmoid()


@functional
def hardsigmoid(input, inplace=False):
    """A piecewise linear sigmoid."""
    return (_nn.hardsigmoid_ if inplace else _nn.hardsigmoid)(input)


@functional
def silu(input, inplace=False):
    """`input * sigmoid(input)`."""
    return (_nn.silu_ if inplace else _nn.silu)(input)


@functional
def mish(input, inplace=False):
    """`input * tanh(softplus(input))`."""
    return (_nn.mish_ if inplace else _nn.mish)(input)


@functional
def hardswish(input, inplace=False):
    """A piecewise swish."""
    return (_nn.hardswish_ if inplace else _nn.hardswish)(input)


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@functional
def dropout(input, p=0.5, training=True, inplace=False):
    """Zeroes elements with probability `p` and scales the rest."""
    _check_probability(p)
    return (torch.dropout_ if inplace else torch.dropout)(input, p, training)


@functional
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance under SELU."""
    _check_probability(p)
    return (torch.alpha_dropout_ if inplace else torch.alpha_dropout)(input, p, training)


@functional
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Alpha dropout of whole channels."""
    _check_probability(p)
    return (torch.feature_alpha_dropout_ if inplace else torch.feature_alpha_dropout)(input, p, training)


def _feature_dropout(input, p, training, inplace):
    return (torch.feature_dropout_ if inplace else torch.feature_dropout)(input, p, training)


def _unbatched(input, p, training, inplace):
    """Feature dropout of an input without a batch dimension."""
    batched = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _feature_dropout(batched, p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def _dropoutnd_note(name, dims, spatial):
    return (
        f"Note that {name} exists to provide channel-wise dropout on inputs with {spatial} spatial "
        f"dimension{'s' if spatial > 1 else ''}, a channel dimension, and an optional batch dimension (i.e. {dims} inputs)."
    )


def _warn_of_dims(name, ndim, dims, spatial):
    warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future release. "
        "To retain the behavior and silence this warning, please use dropout instead. "
        + _dropoutnd_note(name, dims, spatial),
        stacklevel=4,
    )


@functional
def dropout1d(input, p=0.5, training=True, inplace=False):
    """Zeroes channels of (N, C, L)."""
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. "
            + _dropoutnd_note("dropout1d", "2D or 3D", 1)
        )
    return _feature_dropout(input, p, training, inplace) if ndim == 3 else _unbatched(input, p, training, inplace)


@functional
def dropout2d(input, p=0.5, training=True, inplace=False):
    """Zeroes channels of (N, C, H, W)."""
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (3, 4):
        _warn_of_dims("dropout2d", ndim, "3D or 4D", 2)
    if ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - "
            "input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future "
            "release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead."
        )
    return _feature_dropout(input, p, training, inplace)


@functional
def dropout3d(input, p=0.5, training=True, inplace=False):
    """Zeroes channels of (N, C, D, H, W)."""
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (4, 5):
        _warn_of_dims("dropout3d", ndim, "4D or 5D", 3)
    return _feature_dropout(input, p, training, inplace) if ndim == 5 else _unbatched(input, p, training, inplace)
