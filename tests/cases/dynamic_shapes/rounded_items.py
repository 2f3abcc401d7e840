import torch
from torch._dynamo.testing import CompileCounter

torch._dynamo.config.capture_scalar_outputs = True

# The number that a tensor holds, as an integer: part of the graph, whatever it is.


@torch.compile(fullgraph=True)
def times(x, t):
    n = int(t.item())
    return x * n, n


for v in (2.5, 3.7, -1.2):
    print(times(torch.ones(2), torch.tensor(v)))


@torch.compile(fullgraph=True)
def both(x, t):
    return int(t), float(t), x + int(t)


for v in (2.5, 3.7):
    print(both(torch.ones(2), torch.tensor(v)))


@torch.compile(fullgraph=True)
def head(x, t):
    n = int(t.sum().item() * 2)
    torch._check(n >= 0)
    torch._check(n <= x.shape[0])
    return x[:n]


for v in (2.5, 3.0):
    print(head(torch.ones(9), torch.tensor([v])))


# A float argument: rounded in a graph that nothing traces further, a number where AOTAutograd does.
@torch.compile
def scale(x, s):
    return x * s + int(s)


for s in (1.0, 2.5, 3.5, 4.5):
    print(scale(torch.ones(2), s))

functions = {
    "rounded item": lambda x, t: (x + 1, int(t)),
    "item": lambda x, t: (x + 1, float(t)),
    "rounded": lambda x, t: x * t.item() + round(t.item()),
}
for name, function in functions.items():
    counter = CompileCounter()
    compiled = torch.compile(function, backend=counter, fullgraph=True)
    print(name, [compiled(torch.ones(2), torch.tensor(v)) for v in (2.5, 3.7, 4.2)], counter.frame_count)
counter = CompileCounter()
scaled = torch.compile(lambda x, factor: x * factor + int(factor), backend=counter)
for factor in (1.0, 2.5, 3.5, 4.5):
    print(scaled(torch.ones(2), factor), counter.frame_count)
