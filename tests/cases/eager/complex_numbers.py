"""Complex numbers as scripts use them: rotary embeddings, spectra, gradients, printing."""
import torch

torch.manual_seed(0)
x = torch.randn(4, 6, requires_grad=True)
y = torch.fft.fft2(x)
print(y, y.stride())
(y.abs() ** 2).sum().backward()
print(x.grad)
z = torch.complex(torch.arange(4.0), torch.ones(4))
print(z, z * z, z / (1 + 2j), z.conj(), z.abs(), z.angle(), z @ z)
print(torch.view_as_real(z), z.real, z.imag, (z * 1j).exp(), z.sum(), z.mean(), z == z, z[1], z[1].item())
print(-z, z + 1, 1j * z, z**2, z.dtype, z.is_complex())
print(torch.fft.irfft(torch.fft.rfft(x.detach())), torch.fft.rfft(x.detach(), n=5).shape)


def frequencies(dim, end, theta=10000.0):
    steps = 1.0 / (theta ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    angles = torch.outer(torch.arange(end), steps).float()
    return torch.polar(torch.ones_like(angles), angles)


turns = frequencies(8, 5)
print(turns)
q = torch.randn(1, 5, 2, 8, requires_grad=True)
pairs = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
turned = torch.view_as_real(pairs * turns.view(1, 5, 1, 4)).flatten(3)
turned.pow(3).sum().backward()
print(turned[0, 0], q.grad[0, 1])
A = torch.complex(torch.randn(2, 2), torch.randn(2, 2)).requires_grad_()
B = torch.complex(torch.randn(2, 2), torch.randn(2, 2)).requires_grad_()
((A @ B).real.sum() + (A / B).imag.sum()).backward()
print(A.grad, B.grad)
print(torch.hann_window(5), torch.kaiser_window(5), torch.hamming_window(5), torch.blackman_window(5), torch.bartlett_window(5))
print(torch.fft.fftfreq(5), torch.fft.rfftfreq(5), torch.fft.fftshift(torch.arange(5)), torch.fft.ifftshift(torch.arange(5)))
print(torch.zeros(2, dtype=torch.cfloat), torch.ones(2, dtype=torch.cdouble), torch.tensor([1 + 2j]).dtype, torch.full((2,), 1j))
print(z.to(torch.complex128), torch.tensor([1, 2]).cfloat(), torch.eye(2, dtype=torch.cfloat), torch.cat([z, z]), torch.stack([z, z]).T)
