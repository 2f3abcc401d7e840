"""A tensor that takes other memory or another size: what goes on sees it as it is then."""
import torch
@torch.compile(backend="aot_eager")
def k(x, y):
    x.set_(y)
    return x + 1
a, b = torch.ones(2), torch.zeros(3)
print(k(a, b), a)
@torch.compile(backend="aot_eager")
def k2(x, y):
    z = x * 2
    x.resize_(4)
    return z, x.zero_() + 1
a, b = torch.ones(2), torch.zeros(3)
print(k2(a, b), a)
