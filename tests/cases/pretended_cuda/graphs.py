# Graphs of a device that is not there: math attention, the statistics of short dtypes, fused dropout, operands of two devices.
import torch, torch.nn.functional as F
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
with FakeTensorMode(allow_non_fake_inputs=True):
    def show(name, f, *a):
        print("==", name)
        try:
            g = make_fx(f)(*a)
            print("\n".join(l for l in g.print_readable(print_output=False, include_stride=True, include_device=True).splitlines() if "#" not in l and l.strip()))
        except Exception as e:
            print(type(e).__name__, str(e)[:200])
    h = torch.float16
    bf = torch.bfloat16
    show("dropout", lambda x: F.dropout(x, 0.3), t(3))
    show("dropout eval", lambda x: F.dropout(x, 0.3, False), t(3))
    show("dropout1", lambda x: F.dropout(x, 1.0), t(3))
    show("sdpa", lambda q: F.scaled_dot_product_attention(q, q, q), t(1, 2, 4, 8))
    show("sdpa h", lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), t(1, 2, 4, 8, dtype=h))
    show("sdpa mask", lambda q, m: F.scaled_dot_product_attention(q, q, q, m), t(1, 2, 4, 8, dtype=bf), t(4, 4, dtype=torch.bool))
    show("sdpa drop", lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.1), t(1, 2, 4, 8))
    show("ln", lambda x: F.layer_norm(x, (4,)), t(2, 4, dtype=h))
    show("ln2", lambda x, w: F.layer_norm(x, (4,), w, w), t(2, 4), t(4))
    show("gn", lambda x: F.group_norm(x, 2), t(2, 4, 3, dtype=bf))
    show("gn2", lambda x, w: F.group_norm(x, 2, w, w), t(2, 4, 3), t(4))
    show("conv", lambda x, w: F.conv2d(x, w), t(1, 2, 5, 5), t(3, 2, 3, 3))
    show("conv cl", lambda x, w: F.conv2d(x, w), t(1, 2, 5, 5).to(memory_format=torch.channels_last), t(3, 2, 3, 3))
    show("convt", lambda x, w: F.conv_transpose2d(x, w), t(1, 2, 5, 5), t(2, 3, 3, 3))
    show("maxpool", lambda x: F.max_pool2d(x, 2), t(1, 2, 4, 4))
    show("avgpool", lambda x: F.adaptive_avg_pool2d(x, 1), t(1, 2, 4, 4))
    show("ce", lambda x, y: F.cross_entropy(x, y), t(3, 4), t(3, dtype=torch.long))
    show("gelu", lambda x: F.gelu(x, approximate="tanh") + F.silu(x), t(3))
    show("emb", lambda x, w: F.embedding(x, w), t(3, dtype=torch.long), t(4, 2))
    show("to", lambda x: x.to("cpu") + 1, t(3))
    show("mix", lambda x, y: x + y, t(3), t(3, device="cpu"))
    show("mix0", lambda x, y: x + y, t(3), t((), device="cpu"))
    show("index", lambda x, i: x[i], t(3), t(2, dtype=torch.long, device="cpu"))
    show("index2", lambda x, i: x[i], t(3, device="cpu"), t(2, dtype=torch.long))
    show("softmax", lambda x: torch.softmax(x, -1, dtype=torch.float32), t(3, dtype=h))
    show("linear", lambda x, w, b: F.linear(x, w, b), t(2, 3, 4), t(5, 4), t(5))
    show("nonzero", lambda x: x.nonzero(), t(3))
    show("cat", lambda x, y: torch.cat([x, y]), t(3), t(3, device="cpu"))
    show("where", lambda x, y: torch.where(x > 0, x, y), t(3), t((), device="cpu"))
    show("glu", lambda x: F.glu(x), t(2, 4))
    show("mean", lambda x: x.mean() + x.std() + x.norm(), t(2, 4, dtype=h))
