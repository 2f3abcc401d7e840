import torch
@torch.compile
def f(x, y):
    a = x.sin()
    return a, a, x, y, y.view(-1), a + y
x = torch.ones(2, 2, requires_grad=True)
o = f(x, x)
print(o[0] is o[1], o[2] is x, o[3] is x)
sum(t.sum() for t in o).backward()
print(x.grad)
y = torch.zeros(2, 2)
o = f(x, y)
o[0].sum().backward()
print(x.grad)
