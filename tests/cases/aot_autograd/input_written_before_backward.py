import torch

@torch.compile
def f(x, w):
    return x * w
x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
out = f(x, w)
with torch.no_grad():
    w.add_(1)
try:
    out.sum().backward()
except RuntimeError as e:
    print(str(e)[:120])
