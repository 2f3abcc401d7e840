import torch

@torch.compile
def f(a, b, c):
    return a * b, b * c, (a + c).detach(), b.view(1, -1)
a = torch.ones(2, requires_grad=True)
b, c = torch.ones(2), torch.full((2,), 2., requires_grad=True)
o = f(a, b, c)
print([t.requires_grad for t in o], [t.is_leaf for t in o])
(o[0].sum() + o[1].sum()).backward()
print(a.grad, c.grad)
