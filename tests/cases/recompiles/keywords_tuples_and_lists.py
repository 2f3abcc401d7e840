import torch
import torch.nn.functional as F


def scaled(x, **kw):
    return x * kw["a"] + kw.get("b", 0)


@torch.compile
def forwarded(*args, **kw):
    return scaled(*args, **kw)


for k in (1, 2, 3):
    forwarded(torch.ones(2), a=k)
    forwarded(torch.ones(2), a=k, b=k + 1)


@torch.compile
def viewed(x, shape):
    return x.view(shape) * shape[0]


for shape in ((2, 6), (3, 4), (4, 3)):
    viewed(torch.arange(12.0), shape)


@torch.compile
def cut(x, lengths):
    a, b = lengths.tolist()
    return x[:a].sum() + x[b:].sum()


for pair in ([1, 2], [2, 3], [3, 1]):
    cut(torch.arange(5.0), torch.tensor(pair))


@torch.compile
def resized(x, scale):
    return F.interpolate(x, scale_factor=scale, mode="nearest")


for scale in (2.0, 1.5, 2.5):
    resized(torch.ones(1, 1, 4, 4), scale)


def make(scale, shift):
    def inner(x):
        return x * scale

    def outer(x):
        return inner(x) + shift

    return outer


for f in (make(1.0, 2), make(1.5, 2)):
    torch.compile(f)(torch.ones(3))
