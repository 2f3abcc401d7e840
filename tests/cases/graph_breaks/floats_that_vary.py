import torch
@torch.compile
def f(x, lr):
    return x - lr * x.sin()
x = torch.ones(3, requires_grad=True)
for lr in (0.1, 0.2, 0.05, 0.1):
    y = f(x, lr); y.sum().backward(); print(y, x.grad.tolist()); x.grad = None
