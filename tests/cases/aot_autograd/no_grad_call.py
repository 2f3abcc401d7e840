import torch

@torch.compile
def f(x, w):
    x.add_(w)
    return x * w, x.view(-1), w
w = torch.ones(2, requires_grad=True)
x = torch.ones(2)
with torch.no_grad():
    a, v, s = f(x, w)
print(a.requires_grad, v._base is x, s is w, x)
