import torch

@torch.compile
def f(x):
    y = x.clone().view(2, 2, 2)
    y[0, :, 1].mul_(3)
    y.transpose(0, 2)[1].add_(x.view(2, 2, 2)[0])
    y[..., 0].clamp_(max=2)
    return y.sum((0, 1)), y.view(-1)[2:5]
x = torch.arange(8.).requires_grad_()
a, b = f(x)
print(a, b)
(a.sum() + b.prod()).backward()
print(x.grad)
