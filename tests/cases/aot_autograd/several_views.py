import torch
@torch.compile
def f(x):
    y = x * 2
    a, b = y.split(2)
    c = y.unbind(1)
    return a, b, c[0], y[1:], x.unbind(0)[0]
x = torch.arange(8.).view(4, 2).requires_grad_()
outs = f(x)
for o in outs: print(o, o.grad_fn is not None, o._is_view())
sum(o.sum() for o in outs).backward()
print(x.grad)
