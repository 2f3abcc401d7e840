"""Functions of symbolic numbers: torch's own, Python's, `math`'s."""

import math

import torch


@torch.compile(dynamic=True, fullgraph=True)
def numbers(x, n):
    a, b = x.shape
    big, small = torch.sym_max(a, b), torch.sym_min(a, n)
    half = torch.sym_int(a / 2)
    f = torch.sym_float(b)
    root = math.sqrt(a)
    return x * big + small, x * half, x * f, x * root, a // 2, b % 3, -a, abs(a - b), a**2, a * b + n, max(a, b, 3), min(a, 7)


@torch.compile(dynamic=True, fullgraph=True)
def rounded(x):
    n = x.shape[0]
    return x + math.ceil(n / 3), x + math.floor(n * 0.5), x + round(n / 4), x + int(n * 1.5), n / 2, n > 3, not n > 3


for shape in ((4, 6), (7, 5)):
    print(numbers(torch.ones(shape), 5))
for n in (6, 9):
    print(rounded(torch.zeros(n)))
