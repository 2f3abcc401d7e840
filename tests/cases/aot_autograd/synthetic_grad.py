import torch

@torch.compile
def f(a, b):
    a.mul_(2)
    return (a * b).sum()
w = torch.arange(4.).requires_grad_()
base = w * 1
out = f(base[:3], base[1:])
print(out, base)
out.backward()
print(w.grad)
