import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx

# Writing to windows that overlap: refused where views stay views, added up where they are copies.


def f(x):
    y = x.clone()
    y[:, 1:].unfold(1, 2, 1)[..., 0].mul_(3)
    return y


x = torch.arange(16.0).view(4, 4)
copies = make_fx(functionalize(f, remove="mutations_and_views"))(x)
print(copies.code)
print(copies(x))
try:
    make_fx(functionalize(f))(x)
except RuntimeError as error:
    print(error)
