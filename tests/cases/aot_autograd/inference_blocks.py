import torch

@torch.compile
def f(x, w):
    with torch.inference_mode():
        m = x * 2
    return m, (x * w).sin()

x, w = torch.arange(3.).requires_grad_(), torch.ones(3, requires_grad=True)
m, y = f(x, w)
print(m.requires_grad, m.is_inference(), y.requires_grad)
y.sum().backward()
print(x.grad, w.grad)
with torch.no_grad():
    @torch.compile
    def g(x):
        with torch.enable_grad():
            y = x * 2
        return y, x * 3
    a, b = g(x)
print(a.requires_grad, b.requires_grad)
a.sum().backward()
print(x.grad)
