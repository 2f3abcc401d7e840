import torch

scale = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

def high(x, y):
    return x.sin() * y, x + y

def low(x, y):
    return x * 2, y.exp()

@torch.compile(backend="aot_eager")
def f(x, y):
    a, b = torch.cond(x.sum() > 0, high, low, (x, y))
    return (a * b).sum()

@torch.compile(backend="aot_eager")
def closed(x):
    return torch.cond(x.sum() > 0, lambda x: x * scale, lambda x: x / scale, (x,))

for sign in (1.0, -1.0):
    x = torch.full((3,), sign, requires_grad=True)
    y = torch.full((3,), 0.5, requires_grad=True)
    f(x, y).backward()
    print(x.grad.round(decimals=4), y.grad.round(decimals=4))
    with torch.no_grad():
        print(f(x, y).round(decimals=4))
    x.grad = scale.grad = None
    closed(x).sum().backward()
    print(x.grad, scale.grad)
    print(torch.cond(x.sum() > 0, high, low, (x, y))[0].detach().round(decimals=4))
