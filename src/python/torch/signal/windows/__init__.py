"""Windows: each is a function of evenly spaced points, which differ in where they begin and end."""

from math import pi, sqrt

import torch

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


class _Points:
    """Where a window is sampled: what all of them are given, and what they refuse."""

    def __init__(self, name, M, sym, dtype=None, layout=torch.strided, device=None, requires_grad=False):
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not torch.strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        self.M, self.sym = M, sym
        self.options = {"dtype": dtype, "device": device}
        self.requires_grad = requires_grad

    def few(self, least):
        """The window where it has fewer points than a formula needs."""
        if self.M >= least:
            return None
        make = torch.ones if self.M else torch.empty
        return make((self.M,), requires_grad=self.requires_grad, **self.options)

    def line(self, start, end):
        """Points from start to end."""
        return torch.linspace(start, end, self.M, requires_grad=self.requires_grad, **self.options)

    def intervals(self):
        """Intervals of a period, for windows that divide by them."""
        return self.M if not self.sym else self.M - 1


def exponential(M, *, center=None, tau=1.0, sym=True, **options):
    """Falls off exponentially from its center."""
    points = _Points("exponential", M, sym, **options)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if points.few(1) is not None:
        return points.few(1)
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    scale = 1 / tau
    return torch.exp(-torch.abs(points.line(-center * scale, (-center + (M - 1)) * scale)))


def cosine(M, *, sym=True, **options):
    """Half a period of a sine."""
    points = _Points("cosine", M, sym, **options)
    if points.few(1) is not None:
        return points.few(1)
    scale = pi / (M + 1 if not sym and M > 1 else M)
    return torch.sin(points.line(0.5 * scale, (0.5 + (M - 1)) * scale))


def gaussian(M, *, std=1.0, sym=True, **options):
    """A bell."""
    points = _Points("gaussian", M, sym, **options)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if points.few(1) is not None:
        return points.few(1)
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    scale = 1 / (std * sqrt(2))
    return torch.exp(-(points.line(start * scale, (start + (M - 1)) * scale) ** 2))


def kaiser(M, *, beta=12.0, sym=True, **options):
    """A Bessel function over an ellipse."""
    points = _Points("kaiser", M, sym, **options)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if points.few(2) is not None:
        return points.few(2)
    beta = torch.tensor(beta, **points.options)
    step = 2.0 * beta / points.intervals()
    line = points.line(-beta, torch.minimum(beta, -beta + (M - 1) * step))
    return torch.i0(torch.sqrt(beta * beta - torch.pow(line, 2))) / torch.i0(beta)


def bartlett(M, *, sym=True, **options):
    """A triangle."""
    points = _Points("bartlett", M, sym, **options)
    if points.few(2) is not None:
        return points.few(2)
    return 1 - torch.abs(points.line(-1, -1 + (M - 1) * (2 / points.intervals())))


def general_cosine(M, *, a, sym=True, **options):
    """A sum of cosines with coefficients of alternating sign."""
    points = _Points("general_cosine", M, sym, **options)
    if points.few(2) is not None:
        return points.few(2)
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    line = points.line(0, (M - 1) * (2 * pi / points.intervals()))
    signed = [(-1) ** i * w for i, w in enumerate(a)]
    weights = torch.tensor(signed, requires_grad=points.requires_grad, **points.options)
    orders = torch.arange(weights.shape[0], requires_grad=points.requires_grad, **points.options)
    return (weights.unsqueeze(-1) * torch.cos(orders.unsqueeze(-1) * line)).sum(0)


def general_hamming(M, *, alpha=0.54, sym=True, **options):
    """A raised cosine."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M, *, sym=True, **options):
    """Hamming's window."""
    return general_hamming(M, sym=sym, **options)


def hann(M, *, sym=True, **options):
    """Hann's window."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M, *, sym=True, **options):
    """Blackman's window."""
    _Points("blackman", M, sym, **options)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M, *, sym=True, **options):
    """Nuttall's window of least sidelobes. Source: Nuttall, its table II."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)
