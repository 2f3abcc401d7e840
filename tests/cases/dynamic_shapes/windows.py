# Windows, pooling, resampling, sorting and searching of symbolic sizes: one graph serves what PyTorch's does.
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounter
def u1(x): return F.interpolate(x.t()[None], scale_factor=2)
def u2(x): return F.adaptive_avg_pool1d(x.t()[None], 2)
def u3(x): return F.unfold(x[None, None], (2, 2))
def u4(x): return F.adaptive_avg_pool2d(x[None, None], (2, 2))
def u5(x): return F.adaptive_max_pool1d(x.t()[None], 2)
def u6(x): return F.adaptive_max_pool2d(x[None, None], (2, 2))
def u7(x): return F.interpolate(x[None, None], scale_factor=2, mode="bilinear")
def u8(x): return F.interpolate(x.t()[None], size=7, mode="linear")
def u9(x): return F.fold(F.unfold(x[None, None], 2), (x.shape[0], 4), 2)
def u10(x): return F.pixel_unshuffle(x[: x.shape[0] // 2 * 2][None, None], 2)
def u11(x): return F.max_unpool1d(*F.max_pool1d(x.t()[None], 2, return_indices=True), 2)
def u12(x): return F.conv_transpose1d(x.t()[None], torch.ones(4, 2, 3)), F.local_response_norm(x.t()[None], 2)
def u13(x): return F.embedding_bag(torch.arange(x.shape[0]), torch.ones(20, 3), torch.tensor([0, 2]))
def u14(x): return torch.histc(x, 3), torch.bincount(torch.arange(x.shape[0])), x.median(0).values, x.kthvalue(2, 0).values
def u15(x): return torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]), torch.bmm(x[None], x.t()[None])
def u16(x): return torch.trapezoid(x, dim=0), torch.diff(x, dim=0), torch.cummax(x, 0).values, torch.logcumsumexp(x, 0)
def u17(x): return torch.searchsorted(torch.arange(5.0), x), torch.bucketize(x, torch.arange(3.0)), torch.isin(x, torch.ones(1))
flat = torch.utils._pytree.tree_flatten
for fn in [v for k, v in sorted(globals().items(), key=lambda kv: (len(kv[0]), kv[0])) if k[0] == "u" and k[1:].isdigit()]:
    torch._dynamo.reset(); k = CompileCounter()
    c = torch.compile(fn, backend=k)
    counts = []
    for n in (5, 6, 7, 8, 9, 10, 12, 4):
        make = lambda: torch.arange(n * 4.0).reshape(n, 4) / 7
        try:
            r, w = flat(c(make()))[0], flat(fn(make()))[0]
            ok = len(r) == len(w) and all(torch.allclose(a, b, equal_nan=True) for a, b in zip(r, w) if isinstance(a, torch.Tensor))
            counts.append(f"{k.frame_count}.{k.op_count}" + ("" if ok else " WRONG"))
        except Exception as e: counts.append(type(e).__name__ + str(e)[:70])
    print(fn.__name__, counts)
