import torch


@torch.compile
def views(x):
    y = x.exp()
    return y.view(-1), y[0], y


@torch.compile
def written(x, y):
    x.add_(y)
    return x.t(), x


@torch.compile
def doubled(x):
    return (x * 2).sum()


x = torch.zeros(2, 2)
flat, row, whole = views(x)
print(flat._base is whole, row._is_view(), whole._is_view(), flat.requires_grad)
whole.mul_(3)
print(flat, row)
t, same = written(x, torch.ones(2, 2))
print(same is x, t._base is x, x._version)
print(torch.func.grad(doubled)(torch.ones(2)))
print(torch.vmap(doubled)(torch.ones(2, 3)))
