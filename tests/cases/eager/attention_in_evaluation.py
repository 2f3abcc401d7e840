"""Attention and encoder layers in evaluation, where nothing is differentiated: masks, padding, weights, strides, the switch."""

import torch
import torch.nn as nn

torch.manual_seed(0)
m = nn.MultiheadAttention(8, 2, batch_first=True).eval()
x = torch.randn(2, 5, 8)
padding = torch.zeros(2, 5, dtype=torch.bool)
padding[0, 3:] = True
scattered = torch.zeros(2, 5, dtype=torch.bool)
scattered[1, 1] = True
causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
cases = (
    {},
    {"need_weights": False},
    {"key_padding_mask": padding},
    {"attn_mask": causal},
    {"attn_mask": causal, "key_padding_mask": padding},
    {"average_attn_weights": False},
    {"attn_mask": torch.randn(5, 5)},
)
with torch.no_grad():
    for given in cases:
        out, weights = m(x, x, x, **given)
        print([round(v, 4) for v in out[0, 2].tolist()], out.stride())
        print(None if weights is None else (weights.shape, weights.stride(), round(weights.std().item(), 4)))
    hidden = torch.ones(2, 5, dtype=torch.bool)
    print(m(x, x, x, key_padding_mask=hidden)[0].isnan().all())
    print(m(x, x, x + 1)[0].stride())
print(m(x, x, x)[0].grad_fn is not None)

for norm_first in (False, True):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu", norm_first=norm_first)
    encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8) if norm_first else None, enable_nested_tensor=not norm_first).eval()
    with torch.no_grad():
        print(encoder(x)[0, 0])
        print(encoder(x, src_key_padding_mask=padding)[0])
        print(encoder(x, src_key_padding_mask=scattered)[1])
        print(encoder(x, mask=causal)[0, 1])
        print(encoder(x, mask=nn.Transformer.generate_square_subsequent_mask(5), is_causal=True)[0, 1])
    encoder.train()
    with torch.no_grad():
        print(encoder(x).shape)
    encoder.eval()
    for p in encoder.parameters():
        p.requires_grad_(False)
    print(encoder(x, src_key_padding_mask=padding)[0, 4])

torch.backends.mha.set_fastpath_enabled(False)
print(torch.backends.mha.get_fastpath_enabled(), encoder(x, src_key_padding_mask=padding)[0, 4])
torch.backends.mha.set_fastpath_enabled(True)
w = torch.ones(3, requires_grad=True)
print(torch.overrides.has_torch_function((w, nn.Parameter(w.detach()))), torch.overrides.has_torch_function_unary(x))
