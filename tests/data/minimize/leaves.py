# keep: differs:eager
import torch


@torch.compile
def f(x, p):
    a = x.view(-1)
    b = p[0]
    c = x * 2
    d = c.detach().requires_grad_(False)
    return a, b, c, d, x.requires_grad, p.is_leaf, c.is_leaf, c.requires_grad, a.is_leaf


for rx in (False, True):
    x = torch.ones(2, 2, requires_grad=rx)
    p = torch.nn.Parameter(torch.ones(2, 2))
    a, b, c, d, *flags = f(x, p)
    print(flags)
    for t in (a, b, c, d):
        print(t.requires_grad, t.is_leaf, t.grad_fn.__class__.__name__)
    print(x.is_leaf, p.is_leaf)


@torch.compile
def write(p, buf, x):
    with torch.no_grad():
        p.add_(1)
    buf.add_(x.sum())
    return p * x, buf


p = torch.nn.Parameter(torch.zeros(2))
buf = torch.zeros(1)
x = torch.ones(2, requires_grad=True)
y, b = write(p, buf, x)
print(p.requires_grad, p.is_leaf, type(p).__name__, buf.requires_grad, buf.is_leaf, type(buf.grad_fn).__name__, b is buf)
(y.sum() + b.sum()).backward()
print(p.grad, x.grad)


@torch.compile
def new_leaf(x):
    w = torch.ones(2, requires_grad=True)
    return w, w * x


try:
    w, y = new_leaf(torch.ones(2))
    print(w.requires_grad, w.is_leaf, y.requires_grad)
    y.sum().backward()
    print(w.grad)
except Exception as e:
    print(type(e).__name__)
