import torch
from torch.func import grad, vmap


@torch.compile
def plain(w, v, xs):
    def scale(x):
        return x * w + v

    return scale(xs)


def apply(f, x):
    return f(x)


@torch.compile
def handed_on(w, xs):
    return apply(lambda x: (x * w).sum(0), xs)


@torch.compile
def mapped(xs, w):
    def loss(w, x):
        return (x * w).mean()

    def inner(x):
        return grad(loss)(w, x)

    return vmap(inner)(xs)


@torch.compile
def rows_of_numbers(x):
    return vmap(lambda r: r.sum().mean() * r[0])(x), vmap(torch.dot)(x, x)


w, v, xs = torch.ones(3, requires_grad=True), torch.arange(3.0), torch.arange(6.0).reshape(2, 3)
print(plain(w, v, xs))
print(handed_on(w.detach(), xs))
print(mapped(xs, w.detach()))
print(rows_of_numbers(xs))
