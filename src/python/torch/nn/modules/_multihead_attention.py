"""`MultiheadAttention`."""

__dynamo__ = "modules"

import torch
from torch import _native_compile
from torch.nn import functional as F
from torch.nn.init import constant_, xavier_normal_, xavier_uniform_
from torch.nn.modules._parameters import _declare
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from torch.nn.modules.module import Module


def _is_not_differentiated(given):
    """Whether operators without a derivative may take these tensors."""
    requires_grad = torch.is_grad_enabled() and any(x.requires_grad for x in given)
    return not torch.overrides.has_torch_function(given) and not requires_grad


class MultiheadAttention(Module):
    """Attention with several heads."""

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        options = {"device": device, "dtype": dtype}
        # One weight for all three projections, or one for each; what there is comes before what is absent.
        merged = {"in_proj_weight": (3 * embed_dim, embed_dim)}
        columns = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        separate = {name: (embed_dim, count) for name, count in columns.items()}
        there, absent = (merged, separate) if self._qkv_same_embed_dim else (separate, merged)
        _declare(self, options, **there, **dict.fromkeys(absent), in_proj_bias=3 * embed_dim if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **options)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            _declare(self, options, bias_k=(1, 1, embed_dim), bias_v=(1, 1, embed_dim))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        separate = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        for name in ("in_proj_weight",) if self._qkv_same_embed_dim else separate:
            xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            for bias in (self.in_proj_bias, self.out_proj.bias):
                constant_(bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        # In the order in which PyTorch looks at its arguments and parameters: that of the inputs of a captured graph.
        numbers = any(one is not None and torch.is_floating_point(one) for one in (attn_mask, key_padding_mask))
        batched = query.dim() == 3
        key_padding_mask = F._canonical_mask(
            mask=key_padding_mask,
            mask_name="key_padding_mask",
            other_type=F._none_or_dtype(attn_mask),
            other_name="attn_mask",
            target_type=query.dtype,
        )
        attn_mask = F._canonical_mask(
            mask=attn_mask,
            mask_name="attn_mask",
            other_type=None,
            other_name="",
            target_type=query.dtype,
            check_other=False,
        )
        fits = self._fits_one_operator(query, key, value, batched) and not numbers
        if fits and not _native_compile._is_compiling():
            merged, kind = self.merge_masks(attn_mask, key_padding_mask, query)
            return torch._native_multi_head_attention(
                query,
                key,
                value,
                self.embed_dim,
                self.num_heads,
                self.in_proj_weight,
                self.in_proj_bias,
                self.out_proj.weight,
                self.out_proj.bias,
                merged,
                need_weights,
                average_attn_weights,
                kind,
            )
        transposed = self.batch_first and batched
        if transposed:
            # Inputs that are one tensor stay one tensor.
            if key is value:
                if query is key:
                    query = key = value = query.transpose(1, 0)
                else:
                    query, key = query.transpose(1, 0), key.transpose(1, 0)
                    value = key
            else:
                query, key, value = (x.transpose(1, 0) for x in (query, key, value))
        weights = {}
        if not self._qkv_same_embed_dim:
            weights = {
                "use_separate_proj_weight": True,
                "q_proj_weight": self.q_proj_weight,
                "k_proj_weight": self.k_proj_weight,
                "v_proj_weight": self.v_proj_weight,
            }
        attn_output, attn_output_weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            **weights,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        if transposed:
            attn_output = attn_output.transpose(1, 0)
            if fits:
                # A graph, of which one operator is no part, gives what that operator gives.
                attn_output = attn_output.contiguous()
        return attn_output, attn_output_weights

    def _fits_one_operator(self, query, key, value, batched):
        """Whether nothing is differentiated and the arguments are those of `_native_multi_head_attention`."""
        if not (torch.backends.mha.get_fastpath_enabled() and batched and query is key and key is value):
            return False
        if self.in_proj_bias is not None and query.dtype != self.in_proj_bias.dtype:
            return False
        if self.in_proj_weight is None or query.dtype != self.in_proj_weight.dtype:
            return False
        if self.training or self.num_heads % 2 or not self.batch_first or torch.is_autocast_enabled():
            return False
        if self.bias_k is not None or self.bias_v is not None or self.add_zero_attn or self.in_proj_bias is None:
            return False
        given = (query, self.in_proj_weight, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias)
        return _is_not_differentiated(given)

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """Both masks as one, and what it hides: 1 places of an item, 2 pairs of places of an item's head."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2


MultiheadAttention.__module__ = "torch.nn.modules.activation"
