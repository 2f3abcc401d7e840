import torch

@torch.compile
def f(x):
    x.squeeze_(0)
    return x.sin()
b = torch.arange(3.).reshape(1, 3).requires_grad_()
x = b * 1
out = f(x)
print(out, x.shape, x.requires_grad, x.grad_fn is not None)
out.sum().backward()
print(b.grad)
