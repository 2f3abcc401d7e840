import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx


def f(x):
    y = x.view(-1)
    y[:2].add_(1)
    x.t().select(0, 1).mul_(2)
    z = torch.empty_like(x)
    torch.add(x, 1, out=z)
    return x * z


print(make_fx(functionalize(f))(torch.ones(2, 3)).code)
print(make_fx(functionalize(f, remove="mutations_and_views"))(torch.ones(2, 3)).code)

x = torch.ones(2, 2)
outer = torch._to_functional_tensor(x)
print(outer, type(outer), torch._is_functional_tensor(outer), torch._is_functional_tensor(x))
torch._enable_functionalization(reapply_views=True)
flat = outer.view(-1)
print(torch._is_functional_tensor(flat))
flat.mul_(3)
torch._sync(outer)
print(torch._from_functional_tensor(outer), x)
print(outer + 1)
torch._disable_functionalization()
print(outer + 1)
