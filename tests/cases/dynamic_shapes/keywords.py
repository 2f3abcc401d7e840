"""Integers in *args and **kwargs, also where they are handed on, become symbols once they vary."""

import torch


@torch.compile
def f(x, *args, **options):
    return x * options["by"] + args[0]


for i in range(2, 5):
    print(f(torch.ones(3), i * 10, by=i))


def inner(x, scale=1, **rest):
    return x * scale + rest["shift"]


@torch.compile
def g(x, **options):
    return inner(x, **options)


for i in range(2, 5):
    print(g(torch.ones(3), scale=i, shift=i + 1))
