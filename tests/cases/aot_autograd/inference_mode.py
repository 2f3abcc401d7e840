import torch

@torch.compile
def f(x, w):
    x.add_(1)
    return x @ w, x[0]
w = torch.ones(2, 2, requires_grad=True)
x = torch.ones(2, 2)
with torch.inference_mode():
    a, b = f(x, w)
print(a, a.requires_grad, a.is_inference(), x)
