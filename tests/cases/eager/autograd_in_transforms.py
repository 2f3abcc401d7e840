# What a function that is transformed may not do with autograd.
import torch
from torch.func import functionalize, grad, jacrev, jvp, vmap


def requires(x):
    return (x.detach().requires_grad_() * 2).sum()


def setter(x):
    x = x.detach()
    x.requires_grad = True
    return (x * 2).sum()


def retains(x):
    y = x * 2
    y.retain_grad()
    return y.sum()


def jacobian(x):
    return torch.autograd.functional.jacobian(lambda t: t * 2, x).sum()


def pulls(x):
    return torch.autograd.functional.vjp(lambda t: (t * 2).sum(), x)[1].sum()


def off(x):
    x.requires_grad_(False)
    return x.sum()


def frozen(x):
    layer = torch.nn.Linear(3, 1)
    layer.requires_grad_(False)
    return x.sum()


def hooked(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y.sum()


def backward(x):
    (x * 2).sum().backward()
    return x.sum()


def inner(x):
    return torch.autograd.grad(x.sum(), x)[0].sum()


x = torch.ones(2, 3)
transforms = [vmap, grad, lambda f: lambda x: jvp(f, (x,), (x,)), functionalize, jacrev]
for f in (requires, setter, retains, jacobian, pulls, off, frozen, hooked, backward, inner):
    for transform in transforms:
        try:
            print(f.__name__, transform(f)(x.clone()))
        except RuntimeError as error:
            print(f.__name__, error)
