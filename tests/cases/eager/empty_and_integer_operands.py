"""Operands without elements, indices of every dtype, and integers that wrap around or do not fit."""
import torch
import torch.nn.functional as F
from torch import inf, nan


def tried(f, *args, **kwargs):
    try:
        return f(*args, **kwargs)
    except (RuntimeError, IndexError, NotImplementedError) as e:
        return f"{type(e).__name__}: {e}"


x = torch.arange(12.0).reshape(3, 4)
for dtype in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8, torch.bool, torch.float32):
    index, nothing = torch.tensor([[0, 1, 0], [1, 1, 0]]).to(dtype), torch.zeros(0, 3).to(dtype)
    print(dtype)
    for places in (index, nothing):
        print(tried(x.gather, 1, places), tried(x.scatter, 1, places, 9.0), tried(x.scatter_add, 1, places, x), sep="\n")
    print(tried(torch.repeat_interleave, index[0]), tried(torch.tensor_split, x, index[0]), tried(torch.bincount, index[0]))

for sizes in [(2, 0, 3), (2, 3, 0), (0,)]:
    x = torch.zeros(sizes, requires_grad=True)
    for dim in range(len(sizes)):
        out = torch.prod(x, dim)
        print(out.detach(), torch.autograd.grad(out, x, torch.ones_like(out)))
    print(torch.autograd.grad(torch.prod(x), x))
for own, m, v in [((1,), (0, 4), (4,)), ((), (0, 4), (4,)), ((0,), (0, 4), (4,)), ((1,), (3, 0), (0,)), ((3,), (3, 0), (0,))]:
    print(torch.addmv(torch.ones(own), torch.ones(m), torch.ones(v), beta=3))
none = torch.zeros(0, dtype=torch.int64)
print(torch.bincount(none, weights=torch.ones(3), minlength=2), torch.bincount(none, weights=torch.ones(0)))
for training in (True, False):
    x = torch.zeros(0, requires_grad=True)
    out = F.batch_norm(x, torch.zeros(0), torch.ones(0), training=training)
    print(out.detach(), torch.autograd.grad(out, x, torch.ones(0)))
    print(tried(F.batch_norm, torch.ones(3), torch.zeros(0), torch.ones(0), training=training))
    x, weight, bias = torch.zeros(0, 2, 3, requires_grad=True), torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    out = F.batch_norm(x, torch.zeros(2), torch.ones(2), weight, bias, training=training)
    print(torch.autograd.grad(out.sum(), (x, weight, bias)))
for rows, columns in [(0, 0), (0, 3), (3, 0)]:
    a = torch.zeros(rows, columns)
    for order in ("fro", "nuc", inf, -inf, 1, -1, 2):
        print(order, tried(torch.linalg.matrix_norm, a, order), tried(torch.linalg.cond, a, order))
    print(torch.linalg.matrix_rank(a), torch.linalg.matrix_rank(a, hermitian=True))
a = torch.zeros(5, 0, requires_grad=True)
out = torch.ormqr(a, a[0], torch.zeros(5, 0))
print(out.detach(), torch.autograd.grad(out, a, torch.zeros(5, 0), allow_unused=True))
places = torch.zeros(0, 0, dtype=torch.int64)
print(torch.take_along_dim(torch.zeros(0, 0), places, -1), torch.zeros(0, dtype=torch.int64) // 0)

t, high, low = torch.tensor, 2**63 - 1, -2**63
print(torch.cummax(t([1, high, high - 1, low]), 0), torch.cummin(t([1, low + 1, high, low]), 0))
print(torch.isin(t([2**53, 2**53 + 1]), 2**53 + 1), torch.zeros(2, dtype=torch.int64).index_add(0, t([0, 0]), t([high, high])))
print(t([2, 1, -1, 0]) ** t([-1, -2, -3, -1]), 2 ** t([-1, 3]), tried(lambda: t([2]) ** -1))
m = t([[1, 2], [3, high]])
print(torch.addmm(m, m, m, beta=0.6, alpha=1.7), torch.addmv(m[0], m, m[1], beta=1.6), torch.addbmm(m, m[None], m[None], beta=1.6))
print(torch.matrix_power(m, 5), torch.matrix_power(m, 0), tried(torch.matrix_power, m, -1))
for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32):
    for value in (300, -1, -300, 2**40, -0.5, 1e300, nan, inf, 1e20, 70000):
        out = torch.zeros(2, dtype=dtype)
        fill, mask = tried(torch.full, (1,), value, dtype=dtype), tried(out.masked_fill, torch.tensor([True, False]), value)
        print(dtype, value, fill, mask, tried(out.index_fill, 0, t([1]), value), tried(F.pad, out, (0, 1), value=value))
x = torch.arange(6.0).reshape(2, 3) ** 2
for counts in (t([[1, 2, 3]]), t([1, 2]), t([1.0, 2, 3]), t([True, True, True]), t([1, -2, 3]), t([0, 0, 0]), t([1, 2, 1])):
    print(tried(torch.cov, x, fweights=counts), tried(torch.cov, x, aweights=counts))
for weights in (t([1.0, -2, 3]), t([nan, 1.0, 2.0]), t([0.0, 0, 0])):
    print(tried(torch.cov, x, aweights=weights))
