import torch


@torch.compile
def f(a, b):
    a.mul_(2)
    return b + 1, b.sin()


base = torch.arange(12.0)
print(f(base[:6].view(2, 3), base[3:9].view(2, 3)), base)
leaf = torch.arange(12.0, requires_grad=True)
base = leaf * 1
c, s = f(base[:6].view(2, 3), base[3:9].view(2, 3))
(c.sum() + s.sum() + base.sum()).backward()
print(base, leaf.grad)
