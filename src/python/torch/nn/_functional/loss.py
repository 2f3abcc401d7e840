"""Losses."""

__dynamo__ = "functions"

import math

import torch
from torch._C import _nn
from torch.nn import _reduction
from torch.nn._functional import functional, warn


def _reduce(loss, reduction, message):
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(message)


@functional
def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False
):
    """Connectionist temporal classification."""
    number = _reduction.get_enum(reduction)
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)


@functional
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative log likelihood."""
    reduction = _reduction.string(size_average, reduce, reduction)
    return _nn.nll_loss_nd(input, target, weight, _reduction.get_enum(reduction), ignore_index)


@functional
def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction="mean"
):
    """The negative log likelihood of a Poisson distribution."""
    reduction = _reduction.string(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _reduction.get_enum(reduction))


# What the logarithm of a normal density has beside its distance and its variance.
_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def _fit_variance(var, input):
    """A variance for each element, for each row, or for each of all dimensions but one, so that it broadcasts with `input`."""
    own, wanted = var.size(), input.size()
    if own == wanted:
        return var
    if own == wanted[:-1]:
        return torch.unsqueeze(var, -1)
    differing = [size for size, other in zip(own, wanted) if size != other]
    if len(own) != len(wanted) or sum(differing) != 1:
        raise ValueError("var is of incorrect size")
    return var


def _at_least(var, eps):
    """A copy of the variance without smaller values; its gradient is that of a variance that had none."""
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    return var


@functional
def gaussian_nll_loss(input, target, var, full=False, eps=1e-06, reduction="mean"):
    """The negative log likelihood of a Gaussian."""
    one_for_all = isinstance(var, float)
    if var < 0 if one_for_all else torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if one_for_all:
        var = var * torch.ones_like(input)
    var = _fit_variance(var, input)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = _at_least(var, eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += _HALF_LOG_TAU
    return _reduce(loss, reduction, "")


@functional
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence."""
    if size_average is not None or reduce is not None:
        number = _reduction.legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size."
                "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                "'mean' will be changed to behave the same as 'batchmean' in the next major release."
            )
        number = _reduction.get_enum("sum" if reduction == "batchmean" else reduction)
    reduced = torch.kl_div(input, target, number, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        reduced = reduced / input.size()[0]
    return reduced


@functional
def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """The cross entropy between logits and classes or class probabilities."""
    reduction = _reduction.string(size_average, reduce, reduction)
    number = _reduction.get_enum(reduction)
    return _nn.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


@functional
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The cross entropy between probabilities and targets in [0, 1]."""
    number = _reduction.enum(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return _nn.binary_cross_entropy(input, target, weight, number)


@functional
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """The cross entropy between logits and targets in [0, 1]."""
    number = _reduction.enum(size_average, reduce, reduction)
    if not target.size() == input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


@functional
def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """A linear map and the cross entropy of its result."""
    if options is not None:
        raise NotImplementedError("linear_cross_entropy: options are not supported")
    if input.dim() < 1 or input.dim() > 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    in_features = input.shape[-1]
    if in_features != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{in_features} and {linear_weight.shape[-1]}, respectively"
        )
    num_classes, *out_features = linear_weight.shape[:-1]
    shape = (*input.shape[:-1], num_classes, *out_features)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if out_features:
        rows = math.prod(out_features, start=num_classes)
        linear_weight = linear_weight.reshape((rows, in_features))
        if linear_bias is not None:
            linear_bias = linear_bias.reshape(rows)
    logits = _nn.linear(input, linear_weight, linear_bias).reshape(shape)
    return cross_entropy(
        logits,
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )


def _warn_of_sizes(input, target):
    if target.size() != input.size():
        warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )


def _weighted(losses, weight, input, reduction, divide_by_weight):
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    losses = losses() * weight
    if reduction == "mean" and divide_by_weight:
        return torch.sum(losses) / torch.sum(weight)
    return _reduce(
        losses, reduction, f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
    )


@functional
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared below `beta`, absolute above."""
    _warn_of_sizes(input, target)
    reduction = _reduction.string(size_average, reduce, reduction)
    input, target = torch.broadcast_tensors(input, target)
    if beta == 0.0:
        return _nn.l1_loss(input, target, _reduction.get_enum(reduction))
    return _nn.smooth_l1_loss(input, target, _reduction.get_enum(reduction), beta)


@functional
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Squared below `delta`, linear above."""
    _warn_of_sizes(input, target)
    wide, wide_target = torch.broadcast_tensors(input, target)
    if weight is None:
        return _nn.huber_loss(wide, wide_target, _reduction.get_enum(reduction), delta)
    return _weighted(lambda: _nn.huber_loss(wide, wide_target, 0, delta), weight, input, reduction, False)


@functional
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute difference."""
    _warn_of_sizes(input, target)
    reduction = _reduction.string(size_average, reduce, reduction)
    wide, wide_target = torch.broadcast_tensors(input, target)
    if weight is None:
        return _nn.l1_loss(wide, wide_target, _reduction.get_enum(reduction))
    return _weighted(lambda: torch.abs(wide - wide_target), weight, input, reduction, True)


@functional
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The squared difference."""
    _warn_of_sizes(input, target)
    reduction = _reduction.string(size_average, reduce, reduction)
    wide, wide_target = torch.broadcast_tensors(input, target)
    if weight is None:
        return _nn.mse_loss(wide, wide_target, _reduction.get_enum(reduction))
    return _weighted(lambda: torch.pow(wide - wide_target, 2), weight, input, reduction, True)


@functional
def margin_ranking_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """Which of two inputs is to be larger."""
    number = _reduction.enum(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return torch.margin_ranking_loss(input1, input2, target, margin, number)


@functional
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """Whether two inputs are alike."""
    number = _reduction.enum(size_average, reduce, reduction)
    return torch.hinge_embedding_loss(input, target, margin, number)


@functional
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """A margin between several right classes and the others."""
    return _nn.multilabel_margin_loss(input, target, _reduction.enum(size_average, reduce, reduction))


@functional
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Two-class logistic loss."""
    return _nn.soft_margin_loss(input, target, _reduction.enum(size_average, reduce, reduction))


@functional
def multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """Logistic loss per class, averaged over the classes."""
    reduction = _reduction.string(size_average, reduce, reduction)
    loss = -(target * _nn.log_sigmoid(input) + (1 - target) * _nn.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    loss = loss.sum(dim=class_dim) / input.size(class_dim)
    return _reduce(loss, reduction, f"{reduction} is not valid")


@functional
def cosine_embedding_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """Whether two inputs point the same way."""
    number = _reduction.enum(size_average, reduce, reduction)
    return torch.cosine_embedding_loss(input1, input2, target, margin, number)


@functional
def multi_margin_loss(
    input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """A margin between the right class and the others."""
    number = _reduction.enum(size_average, reduce, reduction)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _nn.multi_margin_loss(input, target, p, margin, weight, number)


@functional
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-06,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """Whether the anchor is nearer to the positive than to the negative."""
    number = _reduction.enum(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


@functional
def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """A triplet loss under any distance."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    if distance_function is None:
        distance_function = torch.pairwise_distance
    to_positive = distance_function(anchor, positive)
    to_negative = distance_function(anchor, negative)
    if swap:
        to_negative = torch.minimum(to_negative, distance_function(positive, negative))
    loss = torch.clamp_min(margin + to_positive - to_negative, 0)
    if reduction == "sum":
        return torch.sum(loss)
    return torch.mean(loss) if reduction == "mean" else loss
