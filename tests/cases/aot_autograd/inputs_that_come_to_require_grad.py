import torch
@torch.compile
def f(h, w):
    h.add_(w.sum())
    h[0].mul_(w)
    return h * 2
w = torch.arange(3.).requires_grad_()
h = torch.ones(2, 3)
o = f(h, w)
print(h.requires_grad, h.grad_fn is not None, o)
(o.sum() + h.sum()).backward()
print(w.grad)
k = torch.ones(2, 3, requires_grad=True)
h = k.clone()
o = f(h, w)
h.sum().backward()
print(k.grad, w.grad)
