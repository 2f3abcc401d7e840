import torch
@torch.compile
def f(x, w):
    return (x @ w).relu(), x.t() * 2
torch.manual_seed(0)
x = torch.randn(3, 4, requires_grad=True); w = torch.randn(4, 5, requires_grad=True)
a, b = f(x, w)
torch.autograd.backward([a, b], [torch.randn(5, 3).t(), torch.ones(1).expand(4, 3)])
print(x.grad, w.grad)
a, b = f(x, w)
a.sum().backward()
print(x.grad)
