import torch

@torch.compile
def f(x, y):
    x.mul_(y)
    x.add_(1)
    return x.sum()
w, y = torch.ones(2, requires_grad=True), torch.arange(2.).requires_grad_()
x = w * 2
out = f(x, y)
print(x.grad_fn.name(), out)
(out + x.sum()).backward()
print(w.grad, y.grad)
