import torch
@torch.compile
def f(x, w):
    y = x @ w
    y[:, 1:3].mul_(2).add_(1)
    z = y.view(2, 2, 4)
    z[0].copy_(z[1] * 0.5)
    y.t()[2].relu_()
    return y.sum(0), z
torch.manual_seed(0)
x = torch.randn(4, 3); w = torch.randn(3, 4, requires_grad=True)
a, z = f(x, w)
(a.sum() + z.pow(2).sum()).backward()
print(a, z, w.grad)
