import torch
@torch.compile
def a(x, n):
    if n < 0: return x
    return x / n
@torch.compile
def b(x, n):
    try:
        if n < 0: raise ValueError("neg")
        y = x / n
    except ValueError as e:
        y = x * 0
    return y + x
@torch.compile
def c(x, n):
    try:
        y = x / n
    except ZeroDivisionError: y = x
    finally:
        x = x + 1
    return y + x
@torch.compile
def d(x, n, m):
    k = n + 1
    z = x * m
    return z + k
@torch.compile
def e(x, n):
    if n % 2 == 0: x = x + 1
    return x.sum() * n
@torch.compile
def g(x, lr):
    step = lr * 0.5
    y = x.relu()
    return y * step
for n in (1, 2, 3, 4, 5):
    x = torch.ones(2); a(x, n); b(x, n); c(x, n); d(x, n, n + 3); e(x, n); g(x, n / 2)
