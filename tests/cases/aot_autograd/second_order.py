import torch

@torch.compile
def f(x):
    return (x ** 3).sum()
x = torch.arange(3.).requires_grad_()
try:
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    g.sum().backward()
    print(x.grad)
except RuntimeError as e:
    print(str(e)[:150])
