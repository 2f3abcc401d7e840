# retain_grad() leaves what follows to Python; what comes before is a graph, unless it is a single call.
import torch

lin = torch.nn.Linear(4, 4, bias=False)
torch.nn.init.eye_(lin.weight)


def single(x):
    y = x.relu()
    y.retain_grad()
    return y.sum(), y


def several(x):
    y = lin(x).relu()
    y.retain_grad()
    z = y * 3
    z.register_hook(lambda g: g + 1)
    return z.sum(), y


def sometimes(x, keeps):
    y = lin(x).sin()
    if keeps:
        y.retain_grad()
    return y.sum(), y


x = torch.ones(2, 4, requires_grad=True)
f, g, h = torch.compile(single), torch.compile(several), torch.compile(sometimes)
for _ in range(2):
    for total, y in (f(x), g(x), h(x, True), h(x, False)):
        total.backward()
        print(type(total.grad_fn).__name__, type(y.grad_fn).__name__, y.retains_grad)
print(x.grad)
