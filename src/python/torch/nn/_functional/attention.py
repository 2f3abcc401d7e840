"""Multi-head attention."""

__dynamo__ = "functions"

import math

import torch
from torch._C import _nn
from torch.nn._functional import functional, warn
from torch.nn._functional.activation import dropout, softmax
from torch.nn._functional.vision import pad

linear = _nn.linear


def _check(condition, message, kind=AssertionError):
    if not condition:
        raise kind(message())


def _in_projection_packed(q, k, v, w, b=None):
    """Query, key and value projections by one weight, with as few products as the inputs' identity allows."""
    width = q.size(-1)
    if k is v:
        if q is k:
            proj = linear(q, w, b)
            proj = proj.unflatten(-1, (3, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return proj[0], proj[1], proj[2]
        w_q, w_kv = w.split([width, width * 2])
        b_q, b_kv = (None, None) if b is None else b.split([width, width * 2])
        q_proj = linear(q, w_q, b_q)
        kv_proj = linear(k, w_kv, b_kv)
        kv_proj = kv_proj.unflatten(-1, (2, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return q_proj, kv_proj[0], kv_proj[1]
    w_q, w_k, w_v = w.chunk(3)
    b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """Query, key and value projections by three weights."""
    width = q.size(-1)
    for name, weight, columns in (
        ("query", w_q, width),
        ("key", w_k, k.size(-1)),
        ("value", w_v, v.size(-1)),
    ):
        expected = (width, columns)
        _check(
            tuple(weight.shape) == expected,
            lambda: f"expecting {name} weights shape of {expected}, but got {weight.shape}",
        )
    for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
        _check(
            bias is None or tuple(bias.shape) == (width,),
            lambda: f"expecting {name} bias shape of {(width,)}, but got {bias.shape}",
        )
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    ndim = query.dim()
    _check(
        ndim in (2, 3),
        lambda: f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor",
    )
    batched = ndim == 3
    kind = f"For {'batched' if batched else 'unbatched'} ({ndim}-D) `query`, expected"
    _check(
        key.dim() == ndim and value.dim() == ndim,
        lambda: (
            f"{kind} `key` and `value` to be {ndim}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        ),
    )
    if key_padding_mask is not None:
        _check(
            key_padding_mask.dim() == ndim - 1,
            lambda: (
                f"{kind} `key_padding_mask` to be `None` or {ndim - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
            ),
        )
    if attn_mask is not None:
        _check(
            attn_mask.dim() in (2, 3),
            lambda: f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead",
        )
        if not batched and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            _check(
                tuple(attn_mask.shape) == expected,
                lambda: f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
            )
    return batched


def _none_or_dtype(input):
    if input is None:
        return None
    if isinstance(input, torch.Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """The mask as numbers to add: a boolean one becomes zeros and minus infinities."""
    if mask is None:
        return None
    is_float = torch.is_floating_point(mask)
    if mask.dtype != torch.bool and not is_float:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead."
        )
    if not is_float:
        mask = torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
    return mask


def _split_heads(name, projected, static, heads, head_dim):
    """A projected key or value with one batch entry per head; or the given one, if it has that shape."""
    if static is None:
        return projected.view(projected.shape[0], heads, head_dim).transpose(0, 1)
    for place, expected in ((0, heads), (2, head_dim)):
        _check(
            static.size(place) == expected,
            lambda: f"expecting {name}.size({place}) of {expected}, but got {static.size(place)}",
        )
    return static


@functional
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention with several heads: projections, scaled dot products, output projection."""
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    src_len, _, _ = key.shape
    key_padding_mask = _canonical_mask(
        mask=key_padding_mask,
        mask_name="key_padding_mask",
        other_type=_none_or_dtype(attn_mask),
        other_name="attn_mask",
        target_type=query.dtype,
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if key_padding_mask is not None:
            is_causal = False
    _check(
        embed_dim == embed_dim_to_check,
        lambda: f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}",
    )
    head_dim = embed_dim // num_heads
    _check(
        head_dim * num_heads == embed_dim, lambda: f"embed_dim {embed_dim} not divisible by num_heads {num_heads}"
    )
    if use_separate_proj_weight:
        _check(
            key.shape[:2] == value.shape[:2],
            lambda: f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
        for name, weight in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            _check(
                weight is not None, lambda: f"use_separate_proj_weight is True but {name}_proj_weight is None"
            )
        b_q, b_k, b_v = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(
            query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, b_q, b_k, b_v
        )
    else:
        _check(
            key.shape == value.shape, lambda: f"key shape {key.shape} does not match value shape {value.shape}"
        )
        _check(
            in_proj_weight is not None, lambda: "use_separate_proj_weight is False but in_proj_weight is None"
        )
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        ndim = attn_mask.dim()
        if ndim not in (2, 3):
            raise RuntimeError(f"attn_mask's dimension {ndim} is not supported")
        expected = (tgt_len, src_len) if ndim == 2 else (bsz * num_heads, tgt_len, src_len)
        if attn_mask.shape != expected:
            raise RuntimeError(
                f"The shape of the {ndim}D attn_mask is {attn_mask.shape}, but should be {expected}."
            )
        if ndim == 2:
            attn_mask = attn_mask.unsqueeze(0)

    def widen_masks(attn_mask, key_padding_mask):
        return (
            None if attn_mask is None else pad(attn_mask, (0, 1)),
            None if key_padding_mask is None else pad(key_padding_mask, (0, 1)),
        )

    if bias_k is not None and bias_v is not None:
        _check(static_k is None, lambda: "bias cannot be added to static key.")
        _check(static_v is None, lambda: "bias cannot be added to static value.")
        k = torch.cat([k, bias_k.repeat(1, bsz, 1)])
        v = torch.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask, key_padding_mask = widen_masks(attn_mask, key_padding_mask)
    else:
        _check(bias_k is None, lambda: "bias_k is set but bias_v is None")
        _check(bias_v is None, lambda: "bias_v is set but bias_k is None")

    heads = bsz * num_heads
    q = q.view(tgt_len, heads, head_dim).transpose(0, 1)
    k = _split_heads("static_k", k, static_k, heads, head_dim)
    v = _split_heads("static_v", v, static_v, heads, head_dim)
    if add_zero_attn:
        zeros = (heads, 1, head_dim)
        k = torch.cat([k, torch.zeros(zeros, dtype=k.dtype, device=k.device)], dim=1)
        v = torch.cat([v, torch.zeros(zeros, dtype=v.dtype, device=v.device)], dim=1)
        attn_mask, key_padding_mask = widen_masks(attn_mask, key_padding_mask)
    src_len = k.size(1)
    if key_padding_mask is not None:
        for place, expected in ((0, bsz), (1, src_len)):
            found = key_padding_mask.shape[place]
            _check(
                found == expected,
                lambda: f"Expected key_padded_mask.shape[{place}] to be {expected}, but got {found}",
            )
        key_padding_mask = (
            key_padding_mask.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1).reshape(heads, 1, src_len)
        )
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
    if not training:
        dropout_p = 0.0

    if need_weights:
        _check(
            not (is_causal and attn_mask is None), lambda: "FIXME: is_causal not implemented for need_weights"
        )
        scaled = q * math.sqrt(1.0 / float(q.shape[2]))
        if attn_mask is not None:
            weights = torch.baddbmm(attn_mask, scaled, k.transpose(-2, -1))
        else:
            weights = torch.bmm(scaled, k.transpose(-2, -1))
        weights = softmax(weights, dim=-1)
        if dropout_p > 0.0:
            weights = dropout(weights, p=dropout_p)
        output = torch.bmm(weights, v).transpose(0, 1).reshape(tgt_len * bsz, embed_dim)
        output = linear(output, out_proj_weight, out_proj_bias)
        output = output.view(tgt_len, bsz, output.size(1))
        weights = weights.view(bsz, num_heads, tgt_len, src_len)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        return (output, weights) if batched else (output.squeeze(1), weights.squeeze(0))

    if attn_mask is not None:
        shared = attn_mask.size(0) == 1 and attn_mask.dim() == 3
        attn_mask = attn_mask.unsqueeze(0) if shared else attn_mask.view(bsz, num_heads, -1, src_len)
    q = q.view(bsz, num_heads, tgt_len, head_dim)
    k, v = (x.view(bsz, num_heads, src_len, head_dim) for x in (k, v))
    output = _nn.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    output = output.permute(2, 0, 1, 3).reshape(bsz * tgt_len, embed_dim)
    output = linear(output, out_proj_weight, out_proj_bias)
    output = output.view(tgt_len, bsz, output.size(1))
    return (output if batched else output.squeeze(1)), None
