import torch

@torch.compile
def f(x):
    a, b, c = x.chunk(3, dim=1)
    a.add_(b)
    return torch.cat([a, c], 1), b
x = torch.arange(12.).reshape(2, 6)
out, b = f(x)
print(out, b, x, b._base is x)
