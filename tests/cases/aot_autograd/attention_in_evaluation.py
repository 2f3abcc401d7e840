import torch
import torch.nn as nn

torch.manual_seed(0)
attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
encoder = nn.TransformerEncoder(layer, 2).eval()
x = torch.randn(2, 5, 8)
padding = torch.zeros(2, 5, dtype=torch.bool)
padding[0, 3:] = True


@torch.compile
def attend(x):
    out, weights = attention(x, x, x)
    return out * 2, weights


@torch.compile
def encode(x, padding):
    return encoder(x, src_key_padding_mask=padding) + 1


with torch.no_grad():
    out, weights = attend(x)
    print(out.stride(), weights.shape)
    print(encode(x, padding).shape)
print(attend(x)[0].requires_grad)
