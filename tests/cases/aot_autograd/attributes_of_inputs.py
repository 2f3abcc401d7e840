import torch


@torch.compile
def parts(x, z):
    d = x.data
    y = x * 2
    return d, y, x.data * 3, z.real, z.imag + 1, y.data


x = torch.arange(3.0).requires_grad_()
z = torch.complex(torch.arange(3.0), torch.ones(3))
d, y, triple, real, imag, plain = parts(x, z)
print(d, y, triple, real, imag, plain)
print(d.requires_grad, y.requires_grad, real._base is z, plain.requires_grad)
d.add_(1)
real.zero_()
print(x, z)
y.sum().backward()
print(x.grad)


@torch.compile
def written(x):
    d = x.data
    x.mul_(2)
    return d, x + 1


x = torch.ones(2)
print(written(x), x)
