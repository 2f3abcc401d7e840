import torch

@torch.compile
def f(x):
    y = x.view(2, 3)
    z = y.t()
    return y, z, z[1], x.view(-1)
x = torch.arange(6.).requires_grad_()
y = x * 2
outs = f(y)
print([o._base is y for o in outs], [o.grad_fn.name() for o in outs])
(outs[0].sum() + outs[2].prod()).backward()
print(x.grad)
