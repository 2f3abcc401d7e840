# einops, the package itself: eager, its errors, and traced into graphs with sizes that are static and then vary.
import re

import torch
from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce


def show(gm, inputs):
    # Where the package lies is no part of what is compared.
    print(re.sub("File: .*/einops/", "File: einops/", gm.print_readable(print_output=False)))
    return gm.forward


x = torch.arange(24.0).reshape(2, 3, 4)
print(rearrange(x, "b c d -> b (c d)").shape, reduce(x, "b c d -> b d", "mean"), repeat(x, "b c d -> b c d r", r=2).shape)
print(einsum(x, x, "b c d, b e d -> b c e"))
packed, shapes = pack([x, x[:, 0]], "b * d")
print(packed.shape, shapes, [part.shape for part in unpack(packed, shapes, "b * d")], parse_shape(x, "b _ d"))
for pattern in ("b c -> c b", "b c d -> b (c d e)", "b c d -> b c c d"):
    try:
        rearrange(x, pattern)
    except Exception as error:
        print(type(error).__name__, error)


def attention(x, w):
    q = rearrange(x, "b n (h d) -> b h n d", h=2)
    scores = einsum(q, q, "b h i d, b h j d -> b h i j").softmax(-1)
    out = rearrange(scores @ q, "b h n d -> b n (h d)")
    return reduce(out @ w, "b n d -> b d", "max") + repeat(w.sum(0), "d -> b d", b=x.shape[0])


w = torch.linspace(-1, 1, 16).reshape(4, 4).requires_grad_()
f = torch.compile(attention, backend=show, fullgraph=True)
print(f(x, w), attention(x, w))
print(f(torch.ones(3, 5, 4), w).shape)
print(f(torch.ones(4, 6, 4), w).shape)
torch.compile(attention, backend="aot_eager")(x, w).sum().backward()
print(w.grad)


@torch.compile(backend=show)
def wrong(x):
    return rearrange(x * 2, "a b -> b a")


try:
    wrong(x)
except Exception as error:
    print(type(error).__name__)

torch.manual_seed(0)
layers = torch.nn.Sequential(Rearrange("b c d -> b (c d)"), Reduce("b (c k) -> b c", "sum", k=3))
print(torch.compile(layers, backend=show)(x), layers)
mix = EinMix("b c d -> b e d", weight_shape="c e", bias_shape="e d", c=3, d=4, e=5)
print(torch.compile(mix, backend=show)(x).shape)
