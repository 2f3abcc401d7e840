# A conjugate or a negated imaginary part shares its input's memory: what is saved for the backward is the view, with its bit.
import torch

z0 = torch.complex(torch.tensor([3.0, 1.0]), torch.tensor([4.0, -1.0]))


def squared(z):
    return (z * z.conj()).real


def of_parts(z):
    return torch.view_as_real(z * z.conj())[..., 0].sqrt() + z.imag


def negated(z):
    return z.conj().imag * z.conj().imag.exp()


for function in (squared, of_parts, negated):
    z = z0.clone().requires_grad_()
    torch.compile(function)(z).sum().backward()
    print(function.__name__, z.grad)
