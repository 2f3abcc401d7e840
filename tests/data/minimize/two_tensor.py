# keep: text:TwoTensor
import torch
from torch.testing._internal.two_tensor import TwoTensor


@torch.compile
def bump(x, y):
    x.mul_(2)
    y.add_(x.sum())
    return x + y


x = TwoTensor(torch.ones(2), torch.full((2,), 3.0))
y = TwoTensor(torch.zeros(2), torch.zeros(2))
ia = x.a
o = bump(x, y)
print(o.a, o.b, x.a, x.b, y.a, y.b, x.a is ia)


@torch.compile
def through_view(x):
    v = x.view(-1)
    v[1:3].fill_(7.0)
    return x.sum(), x.t()


z = TwoTensor(torch.zeros(2, 2), torch.ones(2, 2))
s, t = through_view(z)
print(s.a, s.b, z.a, z.b, type(t).__name__, t._base is z if t._is_view() else None)


@torch.compile
def grad_mut(x, w):
    y = x * w
    y[0] = 0.0
    y.relu_()
    return y


w = torch.tensor([1.0, 2.0, -1.0], requires_grad=True)
p = TwoTensor(torch.ones(3), torch.full((3,), -2.0))
out = grad_mut(p, w)
out.sum().backward()
print(out.a.detach(), out.b.detach(), w.grad.a, w.grad.b)


@torch.compile
def plain_gets_sub(buf, sub):
    buf.add_(1)
    return sub * buf


b = torch.zeros(2)
r = plain_gets_sub(b, TwoTensor(torch.ones(2), torch.full((2,), 5.0)))
print(b, r.a, r.b)
