"""Transformers."""

__dynamo__ = "modules"

import copy

import torch
from torch import _native_compile
from torch.nn import functional as F
from torch.nn.init import xavier_uniform_
from torch.nn.modules._multihead_attention import MultiheadAttention, _is_not_differentiated
from torch.nn.modules.container import ModuleList
from torch.nn.modules.dropout import Dropout
from torch.nn.modules.linear import Linear
from torch.nn.modules.module import Module
from torch.nn.modules.normalization import LayerNorm

__all__ = [
    "Transformer", "TransformerEncoder", "TransformerDecoder", "TransformerEncoderLayer", "TransformerDecoderLayer",
]  # fmt: skip


def _generate_square_subsequent_mask(sz, device=None, dtype=None):
    return torch.triu(torch.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _get_seq_len(src, batch_first):
    size = src.size()
    return size[0] if len(size) == 2 else size[1 if batch_first else 0]


def _detect_is_causal_mask(mask, is_causal=None, size=None):
    """Whether a mask is the causal one; compared only where the caller does not say."""
    if is_causal is None and mask is not None:
        causal = _generate_square_subsequent_mask(
            size if size is not None else mask.size(-2), device=mask.device, dtype=mask.dtype
        )
        return mask.size() == causal.size() and bool((mask == causal).all())
    return is_causal is True


def _compares_mask(mask, is_causal):
    """Whether a mask's values decide, which ends what is being captured: the module's call is then no part of it."""
    return mask is not None and is_causal is None and _native_compile._is_compiling()


def _get_clones(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation):
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


def _add_feed_forward(layer, widths, dropout, eps, options, blocks):
    """A layer's two linear maps, and a norm and a dropout for each of its blocks, of which the feed-forward network is the last."""
    outer, inner = widths
    layer.linear1 = Linear(outer, inner, **options)
    layer.dropout = Dropout(dropout)
    layer.linear2 = Linear(inner, outer, **options)
    for number in range(1, blocks + 1):
        setattr(layer, f"norm{number}", LayerNorm(outer, eps=eps, **options))
    for number in range(1, blocks + 1):
        setattr(layer, f"dropout{number}", Dropout(dropout))


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        factory_kwargs = {"device": device, "dtype": dtype}
        super().__init__()
        layer_args = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*layer_args, **factory_kwargs)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*layer_args, **factory_kwargs)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """Minus infinity above the diagonal."""
        return _generate_square_subsequent_mask(sz, dtype=dtype, device=device)

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                xavier_uniform_(p)


class TransformerEncoder(Module):
    """Encoder layers one after the other."""

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = self._no_nested_tensor_because(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            import warnings

            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2
            )

    @staticmethod
    def _no_nested_tensor_because(layer):
        if not isinstance(layer, TransformerEncoderLayer):
            return "encoder_layer was not TransformerEncoderLayer"
        if layer.norm_first:
            return "encoder_layer.norm_first was True"
        attention = layer.self_attn
        if not attention.batch_first:
            return (
                "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
            )
        if not attention._qkv_same_embed_dim:
            return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
        if attention.in_proj_bias is None:
            return "encoder_layer.self_attn was passed bias=False"
        if not layer.activation_relu_or_gelu:
            return "encoder_layer.activation_relu_or_gelu was not True"
        if layer.norm1.eps != layer.norm2.eps:
            return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
        if attention.num_heads % 2 == 1:
            return "encoder_layer.self_attn.num_heads is odd"
        return ""

    def __call__(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        if _compares_mask(mask, is_causal):
            return self._call_outside("Tensor.item()", (src, mask, src_key_padding_mask, is_causal), {})
        return super().__call__(
            src, mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal
        )

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        src_key_padding_mask = F._canonical_mask(
            mask=src_key_padding_mask,
            mask_name="src_key_padding_mask",
            other_type=F._none_or_dtype(mask),
            other_name="mask",
            target_type=src.dtype,
        )
        mask = F._canonical_mask(mask, "mask", None, "", src.dtype, check_other=False)
        output = src
        length = _get_seq_len(src, self.layers[0].self_attn.batch_first)
        is_causal = _detect_is_causal_mask(mask, is_causal, length)
        padding = self._left_out(src, mask, src_key_padding_mask)
        for layer in self.layers:
            output = layer(
                output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=src_key_padding_mask
            )
        if padding is not None:
            output = output.masked_fill(padding.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _left_out(self, src, mask, padding):
        """Which places PyTorch leaves out of the layers' tensors, where it makes nested ones of them: they come back as zeros."""
        layer = self.layers[0]
        if not (torch.backends.mha.get_fastpath_enabled() and self.use_nested_tensor and not layer.training):
            return None
        if src.dim() != 3 or padding is None or mask is not None or torch.is_autocast_enabled():
            return None
        if self.mask_check:
            if _native_compile._is_compiling():
                return None
            kept = padding.logical_not()
            places = torch.arange(kept.size(1), device=kept.device)
            if not torch.equal(places < kept.sum(1, keepdim=True), kept):
                return None
        return padding.bool() if layer._is_not_differentiated(src) else None


class TransformerDecoder(Module):
    """Decoder layers one after the other."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def __call__(self, tgt, memory, tgt_mask=None, *args, tgt_is_causal=None, **kwargs):
        kwargs.update(tgt_is_causal=tgt_is_causal)
        args = (tgt, memory, tgt_mask, *args)
        if _compares_mask(tgt_mask, tgt_is_causal):
            return self._call_outside("Tensor.item()", args, kwargs)
        return super().__call__(*args, **kwargs)

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        output = tgt
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        tgt_is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward network."""

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        factory_kwargs = {"device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory_kwargs
        )
        _add_feed_forward(self, (d_model, dim_feedforward), dropout, layer_norm_eps, {"bias": bias, **factory_kwargs}, blocks=2)
        self.norm_first = norm_first
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        self.activation_relu_or_gelu = 0
        if activation is F.relu or type(activation).__name__ == "ReLU":
            self.activation_relu_or_gelu = 1
        elif activation is F.gelu or type(activation).__name__ == "GELU":
            self.activation_relu_or_gelu = 2
        self.activation = activation

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        src_key_padding_mask = F._canonical_mask(
            mask=src_key_padding_mask,
            mask_name="src_key_padding_mask",
            other_type=F._none_or_dtype(src_mask),
            other_name="src_mask",
            target_type=src.dtype,
        )
        src_mask = F._canonical_mask(src_mask, "src_mask", None, "", src.dtype, check_other=False)
        if self._fits_one_operator(src):
            weights = self._weights()
            merged, kind = self.self_attn.merge_masks(src_mask, src_key_padding_mask, src)
            return torch._transformer_encoder_layer_fwd(
                src,
                self.self_attn.embed_dim,
                self.self_attn.num_heads,
                *weights[:4],
                self.activation_relu_or_gelu == 2,
                self.norm_first,
                self.norm1.eps,
                *weights[4:],
                merged,
                kind,
            )
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _fits_one_operator(self, src):
        """Whether nothing is differentiated and the layer is one that `_transformer_encoder_layer_fwd` computes."""
        attention = self.self_attn
        if not torch.backends.mha.get_fastpath_enabled() or src.dim() != 3 or self.training:
            return False
        if not attention.batch_first or attention.in_proj_bias is None or not attention._qkv_same_embed_dim:
            return False
        if not self.activation_relu_or_gelu or self.norm1.eps != self.norm2.eps or attention.num_heads % 2:
            return False
        if torch.is_autocast_enabled() or any(m._forward_hooks or m._forward_pre_hooks for m in self.modules()):
            return False
        return self._is_not_differentiated(src)

    def _is_not_differentiated(self, src):
        return _is_not_differentiated((src, *self._weights()))

    def _weights(self):
        """Weights and biases, in the order in which `_transformer_encoder_layer_fwd` takes them."""
        parts = (self.self_attn.out_proj, self.norm1, self.norm2, self.linear1, self.linear2)
        return (self.self_attn.in_proj_weight, self.self_attn.in_proj_bias, *(w for part in parts for w in (part.weight, part.bias)))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        x = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )[0]
        return self.dropout1(x)

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's output and a feed-forward network."""

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        factory_kwargs = {"device": device, "dtype": dtype}
        super().__init__()
        attention = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **factory_kwargs}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        _add_feed_forward(self, (d_model, dim_feedforward), dropout, layer_norm_eps, {"bias": bias, **factory_kwargs}, blocks=3)
        self.norm_first = norm_first
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        x = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        cross = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *cross)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *cross))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        x = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )[0]
        return self.dropout1(x)

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        x = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )[0]
        return self.dropout2(x)

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
