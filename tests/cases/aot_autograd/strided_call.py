import torch

@torch.compile
def f(x):
    y = x.transpose(0, 1)
    y.add_(1)
    return y, y.contiguous()
base = torch.arange(12.).reshape(3, 4)
x = base[:, ::2]
a, b = f(x)
print(a, b, base, a.stride(), b.stride(), a._base is base)
