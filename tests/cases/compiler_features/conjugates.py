"""Conjugate and negative bits, eager and compiled."""

import torch

torch.manual_seed(0)
x = torch.randn(3, 4, dtype=torch.complex64)
c = x.conj()
print(c.is_conj(), c, c.imag, c.imag.is_neg(), c.real.is_neg())
print(c.resolve_conj().is_conj(), (c * 2).is_conj(), c.t().is_conj(), x.mH.is_conj(), x.mH.stride())
print(c[0].tolist(), c[0, 0].item(), c.imag.resolve_neg(), -c.imag)
y = x.clone()
d = y.conj()
d.mul_(2)
d[0] = 1 + 2j
d.imag.add_(1)
print(y, d, d.is_conj())
try:
    torch.view_as_real(c)
except RuntimeError as error:
    print(error)
print(c.conj().is_conj(), torch.conj_physical(c).is_conj(), c.clone().is_conj(), c.detach().is_conj(), c.reshape(4, 3).is_conj())
print(torch.equal(c, c.resolve_conj()), x[:, ::2].conj().stride(), x[:, ::2].conj().resolve_conj().stride())


@torch.compile(backend="aot_eager")
def products(x, y):
    a = x.conj()
    return a * y, a.imag, (x @ y.mH).real, a


@torch.compile(backend="aot_eager")
def of_a_conjugate(x):
    return x.conj().imag + 1, x.imag, x.abs()


@torch.compile(backend="aot_eager")
def spectrum(x, w):
    z = torch.fft.rfft(x)
    y = torch.fft.irfft(z.conj() * w)
    return y.sum() + (z.abs() ** 2).sum() + (z / (w + 2)).real.sum()


for out in products(x, torch.randn(3, 4, dtype=torch.complex64)):
    print(out, out.is_conj(), out.is_neg())
for out in of_a_conjugate(x.conj()):
    print(out, out.is_conj(), out.is_neg())
signal = torch.randn(3, 6, requires_grad=True)
weight = torch.randn(3, 4, dtype=torch.complex64)
spectrum(signal, weight).backward()
print(signal.grad)
