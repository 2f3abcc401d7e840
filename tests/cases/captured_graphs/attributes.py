import torch


def show(gm, inputs):
    print(gm.code.strip())
    return gm


def parts(z):
    part = z.imag
    return z.real * 2 + part, z.conj(), z.mT, z.H


z = torch.complex(torch.ones(2, 2), torch.arange(4.0).view(2, 2))
for result in torch.compile(parts, backend=show)(z):
    print(result)


def turned(x):
    other = x.mH
    return x.mT @ x, x.T + 1, x.H * 2, other, x.sin().mT


for result in torch.compile(turned, backend=show)(torch.arange(6.0).view(2, 3)):
    print(result)


def written(x):
    z = torch.view_as_complex(x.clone())
    z.real.mul_(2)
    z.imag[0] = 3
    return z.imag, z.real


print(torch.compile(written, backend=show)(torch.ones(2, 2)))

z.real = torch.zeros(2, 2)
z.imag = 1
print(z)
