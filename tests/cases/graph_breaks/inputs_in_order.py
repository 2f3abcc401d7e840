"""In which order arguments become inputs that comprehensions and functions close over, and convolutions of few and many examples."""
import torch, torch.nn as nn
E = nn.ModuleList([nn.Linear(4,4)])
W = nn.Linear(4,4)
def show(gm, ex):
    print([n.name for n in gm.graph.nodes if n.op == "placeholder"]); return gm.forward
def f1(x, w):
    f = lambda t: W(t) + x * w
    return f(W(x + 1))
def f2(x, a, w):
    return sum([W(x) + w for i in range(a)])
def f3(x, w):
    y = W(torch.ones(4))
    def inner(t):
        return y + t * w + x
    return inner(y)
def f4(a, b, c):
    y = W(c)
    return [y + b + a for _ in range(2)]
def f5(a, b, c):
    g = lambda: None if True else (a, b)
    return W(c) + b + a
def f6(a, b, c):
    y = W(b)
    g = lambda: a
    return y + c + a
def f7(a, b):
    y = W(b)
    z = [a for _ in range(1)]
    return y + z[0]
def f8(a, b, c):
    y = W(torch.ones(4))
    z = [b*i for i in range(2)]
    return W(z[0]) + c + a
def f9(a, b, c):
    y = [W(a) + c for i in range(2)]
    return y[0] + b
def f12(a, b):
    y = W(a)
    g = lambda: b
    return y
for f in (f1, f2, f3, f4, f5, f6, f7, f8, f9, f12):
    torch._dynamo.reset()
    n = f.__code__.co_argcount
    args = [torch.ones(4) * i for i in range(n)]
    if f is f2: args[1] = 2
    print(f.__name__, end=" "); torch.compile(f, backend=show)(*args)


conv = nn.Conv2d(1, 2, 3)
count = []


def counted(gm, ex):
    count.append(gm)
    return gm.forward


compiled = torch.compile(lambda x: conv(x).sum((1, 2, 3)), backend=counted, dynamic=True)
for n in (4, 8, 20, 16, 15):
    compiled(torch.ones(n, 1, 5, 5))
    print(n, len(count))


class Switch(nn.Module):
    doubles = True

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        return self.lin(x) * 2 if Switch.doubles else self.lin(x)


del count[:]
switch = torch.compile(Switch(), backend=counted)
for value in (True, True, False, False, True):
    Switch.doubles = value
    switch(torch.ones(1, 2))
    print(value, len(count))
del count[:]
pieces = torch.compile(lambda x, y: (x * y).sum() + x[:, 0].sum(), backend=counted)
data = torch.arange(60.0)
for at in (0, 8, 16):
    part = data[at:at + 9]
    print(pieces(part[:-1].view(2, 4), part[1:].view(2, 4)), len(count))
for rows in (1, 2, 3):
    pieces(torch.ones(rows, 4), torch.ones(rows, 4))
    print(rows, len(count))
