"""The operator behind `torch.nn.attention.flex_attention`."""

import math

import torch
from torch import _native_compile
from torch._higher_order_ops._flat import Flat


def flex_attention(
    query,
    key,
    value,
    score_mod,
    block_mask,
    scale,
    kernel_options,
    score_mod_other_buffers=(),
    mask_mod_other_buffers=(),
):
    """The attention, the log-sum-exp of its scores and their maximum, both to the base 2; under `torch.compile` the functions are captured."""
    *blocks, mask_mod = block_mask
    if not _native_compile._is_capturing():
        functions = (_with(score_mod, score_mod_other_buffers), _with(mask_mod, mask_mod_other_buffers))
        return _attend(query, key, value, *functions, scale)
    score = Flat("torch.ops.higher_order.flex_attention", _with(score_mod, score_mod_other_buffers), tuple)
    mask = Flat("torch.ops.higher_order.flex_attention", _with(mask_mod, mask_mod_other_buffers), tuple)
    return _native_compile._flex_attention(score, mask, (query, key, value), tuple(blocks), scale, kernel_options)


def _with(function, buffers):
    return (lambda *position: function(*position, *buffers)) if buffers else function


def _attend(query, key, value, score_mod, mask_mod, scale):
    """All scores at once, where nothing is compiled: the functions are called as they are."""
    from torch.nn.attention.flex_attention import _vmap_for_bhqkv

    groups = query.size(1) // key.size(1)
    key, value = (torch.repeat_interleave(t, groups, dim=1) for t in (key, value))
    key, value = (t.expand((query.size(0), *t.size()[1:])) for t in (key, value))
    precision = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = query.to(precision) @ key.to(precision).transpose(-2, -1)
    positions = [torch.arange(0, size, device=scores.device) for size in scores.shape]
    scores = (scores * scale).to(precision)
    masked_in = _vmap_for_bhqkv(mask_mod, prefix=())(*positions)
    changed = _vmap_for_bhqkv(score_mod, prefix=(0,))(scores, *positions)
    infinite = torch.tensor(-float("inf"), dtype=precision, device=scores.device)
    changed = torch.where(masked_in, changed, infinite)
    masked_rows = torch.all(changed == -float("inf"), dim=-1)
    logsumexp = torch.where(masked_rows, -float("inf"), changed.logsumexp(dim=-1))
    largest = torch.max(changed, dim=-1)[0]
    weights = torch._safe_softmax(changed, dim=-1)
    out = weights.to(query.dtype) @ value.to(query.dtype)
    return out, logsumexp / math.log(2), largest / math.log(2)
