import torch

@torch.compile
def f(x, y):
    x.unsqueeze_(0)
    return x * y
x, y = torch.ones(3), torch.arange(3.).requires_grad_()
out = f(x, y)
print(out, x.shape)
out.sum().backward()
print(y.grad)
