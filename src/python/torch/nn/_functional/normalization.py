"""Normalization and embeddings."""

__dynamo__ = "functions"

import torch
from torch.nn._functional import functional, warn


def _verify_batch_size(size):
    count = size[0]
    for extent in size[2:]:
        count *= extent
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size):
    count = 1
    for extent in size[2:]:
        count *= extent
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


@functional
def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05
):
    """Normalizes each channel over a batch, or by running statistics."""
    if training:
        _verify_batch_size(input.size())
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, torch.backends.cudnn.enabled)


@functional
def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    """Normalizes each channel of each item."""
    if use_input_stats:
        _verify_spatial_size(input.size())
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, torch.backends.cudnn.enabled)


@functional
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Normalizes over the last dimensions."""
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, torch.backends.cudnn.enabled)


@functional
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divides by the root mean square over the last dimensions."""
    return torch.rms_norm(input, normalized_shape, weight, eps)


@functional
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Normalizes over groups of channels."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _verify_batch_size([input.size(0) * input.size(1) // num_groups, num_groups] + list(input.size()[2:]))
    return torch.group_norm(input, num_groups, weight, bias, eps, torch.backends.cudnn.enabled)


@functional
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Normalizes by the neighbouring channels."""
    from torch.nn.functional import avg_pool2d, avg_pool3d, pad

    ndim = input.dim()
    if ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    div = input.mul(input)
    # The channels are the first of two or three dimensions that are pooled, with a window of one in the others.
    around = (size // 2, (size - 1) // 2)
    if ndim == 3:
        pool, window = avg_pool2d, (size, 1)
        div = pad(div.unsqueeze(1), (0, 0, *around))
    else:
        pool, window = avg_pool3d, (size, 1, 1)
        sizes = input.size()
        div = div.view(sizes[0], 1, sizes[1], sizes[2], -1)
        div = pad(div, (0, 0, 0, 0, *around))
    div = pool(div, window, stride=1).squeeze(1)
    if ndim != 3:
        div = div.view(sizes)
    return input / div.mul(alpha).add(k).pow(beta)


@functional
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divides by the norm along `dim`."""
    if out is None:
        return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return torch.div(input, input.norm(p, dim, keepdim=True).clamp_min_(eps).expand_as(input), out=out)


@functional
def embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """Rows of `weight`."""
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -weight.size(0) <= padding_idx < weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        if padding_idx < 0:
            padding_idx = weight.size(0) + padding_idx
    if max_norm is not None:
        input = input.contiguous()
        torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return torch.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _check_bags(input, offsets):
    """Bags are the rows of a matrix, or begin at offsets in a vector."""
    ndim = input.dim()
    if ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {ndim}")
    if ndim == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets)}"
        )
    if ndim == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if ndim == 1 and offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")


@functional
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Sums, means or maxima of bags of rows of `weight`."""
    if weight.dtype == torch.long and input.is_floating_point():
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same "
            f"shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    _check_bags(input, offsets)
    if input.dim() == 2:
        # Each row is a bag.
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
        include_last_offset = False
    modes = {"sum": 0, "mean": 1, "max": 2}
    if mode not in modes:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    result, _, _, _ = torch.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        modes[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    return result
