# A function whose calls are functionalized, and what of it is traced: views after writes, writes to arguments, conditions.
import torch
from torch._subclasses.functional_tensor import dispatch_functionalize
from torch.fx.experimental.proxy_tensor import make_fx


def views(x, i):
    y = x.clone()
    y[1:].mul_(2)
    z = y.unsqueeze(0)
    z.squeeze_(0)
    y.scatter_(0, i, 9.0)
    x.add_(1)
    return y, z, x.sum()


def rows(x):
    a, b = x.chunk(2)
    a.zero_()
    t = x.t()
    t[0].add_(b.sum())
    return {"x": x, "t": t, "diagonal": torch.diagonal(x).fill_(3)}


x, i = torch.ones(3), torch.tensor([0, 2])
print(make_fx(dispatch_functionalize(views))(x, i).code)
print(dispatch_functionalize(views)(x.clone(), i), x)
square = torch.arange(16.0).reshape(4, 4)
print(make_fx(dispatch_functionalize(rows))(square).code)
print(dispatch_functionalize(rows)(square.clone()), square[0])
