import torch
@torch.compile
def f(x, y):
    a = x.exp()
    b = a.detach()
    c = b.view(-1)
    d = (a * b).sum() + c.sum()
    e = y.detach().clone().requires_grad_()
    return d, b, c, e * y
x = torch.linspace(0, 1, 4).view(2, 2).requires_grad_()
y = torch.ones(3, requires_grad=True)
d, b, c, e = f(x, y)
(d + e.sum()).backward()
print(d, b, c, b.requires_grad, c.requires_grad, e.requires_grad, x.grad, y.grad)
