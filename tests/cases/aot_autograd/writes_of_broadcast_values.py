import torch
@torch.compile
def f(x, y):
    z = torch.zeros(3, 4)
    z.copy_(y)
    z[:, ::2] = x.unsqueeze(1)
    z.select(0, 1).masked_fill_(y > 1, -1.0)
    z.permute(1, 0)[0].mul_(2)
    return z.flatten(), z.sum(0).squeeze()
x = torch.arange(3.).requires_grad_(); y = torch.arange(4.).requires_grad_()
a, b = f(x, y)
(a.sum() + (b * b).sum()).backward()
print(a, b, x.grad, y.grad)
