# Calls that give a tensor of the caller's back are values that the graph returns.
import torch
import torch.nn as nn
from torch.nn.utils import parametrizations


@torch.compile
def f(x):
    return x.to(torch.float32), x.contiguous(), x.expand(2, 3), x.view_as(x)


@torch.compile
def g(x):
    y = x.float()
    z = nn.functional.dropout(y, 0.5, training=False)
    return z, z.reshape(2, 3), x.to("cpu"), x.type_as(x)


@torch.compile
def k(x, y):
    x = x.contiguous()
    x.add_(1)
    y = y.to(torch.float32)
    y.mul_(2)
    return x, y, x + y


@torch.compile
def dropped(x):
    x.contiguous()
    return x, x * 2


for grad in (False, True):
    x = torch.ones(2, 3, requires_grad=grad)
    for fn in (f, g, dropped):
        outs = fn(x)
        print(fn.__name__, [o is x for o in outs], [o._is_view() for o in outs], [type(o.grad_fn).__name__ for o in outs])
a, b = torch.zeros(3), torch.ones(3)
o = k(a, b)
print(o, o[0] is a, o[1] is b)

torch.manual_seed(0)
net = torch.compile(parametrizations.spectral_norm(nn.Linear(4, 5)))
net(torch.randn(3, 4)).sum().backward()
print(net.parametrizations.weight.original.grad.norm())
