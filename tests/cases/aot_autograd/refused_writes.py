import torch

def attempt(f, *args):
    try:
        return f(*args)
    except RuntimeError as e:
        print(type(e).__name__, str(e).split("\n")[1][:300])

def leaf(x):
    x.add_(1)
    return x

def several(x):
    a, b = (x * 2).unbind(0)
    a.add_(1)
    return b

attempt(torch.compile(leaf), torch.ones(3, requires_grad=True))
attempt(torch.compile(several), torch.ones(2, 2, requires_grad=True))
x = torch.arange(4.).reshape(2, 2).requires_grad_()
v = torch.compile(lambda x: x.view(-1))(x)
try:
    v.add_(1)
except RuntimeError as e:
    print(e)
