import torch

@torch.compile
def f(x, w):
    with torch.no_grad():
        s = x.abs().max()
    y = (x / s) @ w
    return y, s, y.detach()

torch.manual_seed(0)
w = torch.randn(3, 2, requires_grad=True)
for n in (2, 4, 6):
    y, s, d = f(torch.randn(n, 3), w)
    y.sum().backward()
    print(y.requires_grad, s.requires_grad, d.requires_grad, round(w.grad.sum().item(), 4))
with torch.no_grad():
    y, s, d = f(torch.ones(4, 3), w)
    print(y.requires_grad)
with torch.inference_mode():
    print(f(torch.ones(4, 3), w)[1])
