import torch

@torch.compile
def step(w, m, v, g):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    with torch.no_grad():
        w.addcdiv_(m, v.sqrt() + 1e-8, value=-0.01)
    return w.sum()

w = torch.arange(4.).div(4).requires_grad_()
m, v = torch.zeros(4), torch.zeros(4)
for _ in range(2):
    print(step(w, m, v, torch.arange(4.) - 1.5))
print(w, m, v)

@torch.compile
def f(x, a, b):
    return x.mul(2).addcmul_(a, b, value=0.5).sin()

x, a, b = (torch.ones(2, 2, requires_grad=True) for _ in range(3))
f(x, a, b).sum().backward()
print(x.grad, a.grad, b.grad)
