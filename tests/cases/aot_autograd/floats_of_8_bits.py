# float8: casts, what PyTorch computes of it and what it refuses, products with scales, in graphs and in a subclass that is trained.
import torch
from torch import nn

x = torch.tensor([0.1, 1.0, -2.5, 448.0, 500.0, 1e-3, float("nan"), float("inf")])
for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
    y = x.to(dtype)
    print(y, y.view(torch.uint8).tolist(), torch.finfo(dtype))
    print(y == y, torch.cat([y[:2], y[2:3]]), y[1:].abs()[:2], (y[:3] * y[:3]).float())
    for f in (lambda: y + y, lambda: y * 2.0, lambda: y + x, lambda: y.sum(), lambda: y @ y, lambda: torch.randn(2, dtype=dtype)):
        try:
            print(f())
        except Exception as e:
            print(type(e).__name__, e)
print(torch.zeros(2, dtype=torch.float8_e5m2), torch.tensor([3.0], dtype=torch.float8_e4m3fn).tolist())


def quantized(t, dtype=torch.float8_e4m3fn):
    scale = t.abs().max() / torch.finfo(dtype).max
    return (t / scale).to(dtype), scale


class ScaledProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        a, s = quantized(x)
        b, t = quantized(w)
        return torch._scaled_mm(a, b.t(), s, t, out_dtype=torch.float32)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w, g.t() @ x


torch.manual_seed(0)
x, w = torch.randn(16, 32, requires_grad=True), torch.randn(16, 32, requires_grad=True)


@torch.compile(fullgraph=True)
def product(x, w):
    return ScaledProduct.apply(x, w).relu()


y = product(x, w)
y.sum().backward()
print(y.shape, bool((y - (x @ w.t()).relu()).abs().max() < 1.0), x.grad.norm().item().__round__(3))


@torch.compile(fullgraph=True)
def kept_small(x):
    low, scale = quantized(x.sin())
    return low, (low.to(torch.float32) * scale).sum()


low, total = kept_small(x)
print(low.dtype, low.shape, total.item().__round__(2))
total.backward()
print(bool(x.grad.isfinite().all()))
