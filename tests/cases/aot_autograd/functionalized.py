import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx


def f(x):
    y = x.clone()
    y[0].add_(1)
    y.t().mul_(2)
    y.permute(1, 0).unsqueeze(0)[0].sub_(1)
    return y.sum()


x = torch.ones(2, 3)
print(make_fx(functionalize(f))(x).code)
print(make_fx(functionalize(f, remove="mutations_and_views"))(x).code)
print(functionalize(f)(x))
