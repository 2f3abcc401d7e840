"""Operators on complex numbers, halves, integers, zeros of either sign and equal elements, and in transforms."""
import torch
import torch.nn.functional as F
from torch.func import jvp, vmap

torch.manual_seed(0)
c, d = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, 2.0 + 0j]]), torch.tensor([[2 - 1j, 1j], [1 + 1j, -1.0 + 0j]])
print(torch.linalg.vecdot(c, d), torch.vdot(c[0], d[0]), torch.cov(c))
a, b = c.clone().requires_grad_(), d.clone().requires_grad_()
print(torch.autograd.grad(torch.vdot(a[0], b[0]).real, (a, b)))
for x, y in [(torch.tensor([1, 2]), 2), (2, torch.tensor([1, 2])), (torch.tensor([1.0, 2.0]).half(), torch.tensor([1, 2])), (c, 2), (torch.tensor([1.0, 2.0]), c[0]), (torch.tensor([1, 2]), 2j)]:
    print(torch.float_power(x, y))
try:
    torch.tensor([1.0, 2.0]).float_power_(2)
except RuntimeError as e:
    print(e)
h, i = torch.tensor([1.0, 2.0, 3.0]).half(), torch.tensor([1, 2, 3])
print(torch.ldexp(h, i), torch.ldexp(h.bfloat16(), i), torch.ldexp(i, i), torch.ldexp(h.float(), torch.tensor([1, -2, 200])))
x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.5, -1.0], requires_grad=True)
z = torch.ldexp(x, y)
print(z.grad_fn.name(), torch.autograd.grad(z.sum(), (x, y)))
for dtype in (torch.float16, torch.bfloat16, torch.float32):
    x = (torch.arange(6.0).reshape(2, 3) + 0.5).to(dtype).requires_grad_()
    y = torch.renorm(x, 2, 0, 3.0)
    print(y, torch.autograd.grad((y * torch.tensor([1.0, 2.0, 3.0], dtype=dtype)).sum(), x))
print(*torch.linalg.qr(torch.eye(3)), *torch.linalg.qr(torch.tensor([[1.0, 2.0], [0.0, 3.0], [0.0, 0.0]])))
print(torch.linalg.cholesky(torch.tensor([[4.0, -0.0], [-0.0, 1.0]])))
print(torch.polygamma(1, torch.tensor([-3.0, -1.0, 0.5, float("inf")])), torch.digamma(torch.tensor([-1.5, 0.5, 10.0])))
for n in (16, 17, 40, 300):
    v = torch.randint(0, 5, (n,)).float()
    print(v.argsort().tolist(), v.argsort(descending=True).tolist(), v.argsort(stable=True).tolist())
    v = torch.where(torch.arange(n) % 3 == 0, -v * 0.0, v)
    print(torch.unique(v), v.median(0), torch.unique(torch.stack([v, -v], 1), dim=0)[0])
try:
    torch.linalg.pinv(torch.tensor([[float("nan"), 1.0], [2.0, 3.0]]))
except torch.linalg.LinAlgError as e:
    print(e)
print(1 / torch.tensor([0j]), torch.nextafter(torch.tensor([1.0, -1.0, 0.0]).bfloat16(), torch.tensor([2.0, 2.0, 2.0]).bfloat16()))
print(torch.tensor([float("inf"), float("nan"), 0.0]).logcumsumexp(0), F.gelu(torch.tensor([float("inf"), -7.0, 1.0])))
print((2 ** torch.randn(3, 2).t()).stride())
b = torch.randn(4, 3, 3)
print(vmap(lambda x: torch.as_strided(x, (2, 2), (1, 3), 1))(b).shape, torch.equal(vmap(lambda x: x.as_strided((3,), (4,)))(b), b.diagonal(dim1=1, dim2=2)))
print(vmap(lambda x: F.one_hot(x, 4))(torch.tensor([[0, 1, 2], [2, 0, 1]])), vmap(lambda x: x.roll(1))(torch.arange(8).reshape(2, 2, 2)))
print(vmap(lambda x: x.unfold(0, 2, 1))(b).shape)
try:
    vmap(F.one_hot)(torch.tensor([[0, 1]]))
except RuntimeError as e:
    print(e)
print(jvp(lambda x: torch.logcumsumexp(x, 0), (torch.tensor([0.5, -1.0, 2.0]),), (torch.ones(3),)))
