"""Forward and gradient at NaN, infinities, zeros of either sign, the largest and the smallest numbers of a dtype."""
import torch
import torch.nn.functional as F
from torch import inf, nan

LARGE, TINY = torch.finfo(torch.float32).max, torch.finfo(torch.float32).tiny
EDGES = [nan, inf, -inf, 0.0, -0.0, LARGE, -LARGE, TINY, 1e-45, 90.0, -90.0, 700.0, 1e4, 1e8, -1e8, 6.5, -7.25]


def show(name, f, *operands):
    operands = [x.clone().requires_grad_() for x in operands]
    try:
        out = f(*operands)
        print(name, out.detach())
        weights = torch.cos(torch.arange(float(out.numel()))).reshape(out.shape).to(out.dtype)
        print(" ", *torch.autograd.grad(out, operands, weights, allow_unused=True))
    except RuntimeError as e:
        print(name, type(e).__name__, e)


torch.set_printoptions(sci_mode=True)
special = torch.special
for name in ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
             "modified_bessel_k1", "i0", "i1", "i0e", "i1e", "airy_ai"]:
    show(name, getattr(special, name), torch.tensor(EDGES))
for name in ["scaled_modified_bessel_k0", "scaled_modified_bessel_k1"]:
    print(name, getattr(special, name)(torch.tensor(EDGES)))
for eps in (None, 0.1):
    # Whole groups of lanes go another way than the rest.
    for times in (1, 16):
        x = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, 0.1, 0.9, 0.5, 2.0] * times, requires_grad=True)
        out = torch.logit(x, eps)
        print(out[:10].detach(), torch.autograd.grad(out, x, torch.ones_like(out))[0][:10])
for a in (0.0, 2.0, nan, inf):
    x = torch.tensor([nan, 0.0, inf, 1.0])
    print(a, torch.igamma(torch.full_like(x, a), x), torch.igammac(torch.full_like(x, a), x))

rows, others = torch.tensor([[0.0, 1.0], [nan, 1.0], [inf, 0.0], [3e38, 0.0], [1, -inf]]), torch.tensor([[0.0, 1.0], [-3e38, nan], [inf, 0.0]])
for p in (0.0, 0.5, 1.0, 1.5, 3.0):
    print("cdist", p, torch.cdist(rows, others, p))
torch.manual_seed(0)
show("cdist", lambda x, y: torch.cdist(x, y, inf), torch.randn(4, 3) * 7, torch.randn(5, 3) * 7)
show("cross", torch.linalg.cross, torch.tensor([[LARGE, inf, 2.0], [1.1, 1.3, 1.7]]), torch.tensor([[1.0, LARGE, LARGE], [1.2, 1.9, 1.4]]))

factors = torch.tensor([[1.0, nan], [0.5, 2.0], [inf, -0.5]])
for tau in ([0.5, 0.0], [0.0, 1.5], [nan, 0.5]):
    show("householder_product", torch.linalg.householder_product, factors, torch.tensor(tau))
    for left, transpose in [(True, False), (True, True), (False, False), (False, True)]:
        x = torch.tensor([[1.0, inf, -2.0], [0.5, 3.0, nan], [1.0, -1.0, 0.25]])
        show("ormqr", lambda a, t, x: torch.ormqr(a, t, x, left, transpose), factors, torch.tensor(tau), x)

grid = torch.tensor([[[[nan, 0.0], [inf, 0.5], [-inf, -0.5], [3e38, nan], [0.25, -0.75]]]])
image = torch.arange(1.0, 10.0).reshape(1, 1, 3, 3)
for padding in ("zeros", "border"):
    print(F.grid_sample(image, grid, padding_mode=padding, align_corners=False))
    print(F.grid_sample(image, grid, mode="nearest", padding_mode=padding, align_corners=False))

print(torch.fft.rfft(torch.tensor([1.0, nan, 2.0])))
print(torch.linalg.slogdet(torch.full((2, 2), nan)))
boundaries, sought = torch.tensor([-1.0, nan, 0.0, 0.5]), torch.tensor([nan, inf, -inf, 0.0, 0.25])
print(torch.bucketize(sought, boundaries), torch.bucketize(sought, boundaries, right=True))
print(torch.histc(torch.tensor([0.0, 5e-6, 1e-5, 1.2e-5]), bins=1000, min=0.0, max=1e-5).nonzero())

# Floats that no integer of the dtype is.
x = torch.tensor([nan, inf, -inf, 3e38, 1e10, -1e10, 3e9, 70000.0, -70000.0, 300.0, -300.0, 2147483648.0, -1.5])
for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool):
    print(x.to(dtype), x.double().to(dtype), x.half().to(dtype))

for values in ([[nan, 2.0], [1.0, 3.0]], [[nan, 0.0], [1.0, 3.0]], [[0.0, 0.0], [inf, 3.0]], [[1e-30, 1e-30], [2.0, 3.0]], [[3e38, 10.0], [1e-20, 1.0]]):
    show("prod", torch.prod, torch.tensor(values))
    show("prod", lambda x: torch.prod(x, 1), torch.tensor(values))
for f in (F.elu, F.celu, F.selu):
    for times in (1, 32):
        x = torch.tensor([nan, inf, -inf, 0.5] * times, requires_grad=True)
        print(f(x)[:4].detach(), torch.autograd.grad(f(x).sum(), x)[0][:4])
