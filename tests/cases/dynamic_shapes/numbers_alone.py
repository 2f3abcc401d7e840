"""Graphs that give numbers and compute no tensor: a size that a function returns, or that a break leaves for what follows."""

import torch

graphs = []


def keep(gm, example_inputs):
    graphs.append(gm.code.strip().splitlines()[-1].strip())
    return gm


def show(function, *args):
    graphs.clear()
    torch._dynamo.reset()
    results = [torch.compile(function, backend=keep, dynamic=True)(*args) for _ in range(2)]
    print(function.__name__, results[0], results[0] == results[1], graphs)


def doubled(x):
    return x.shape[0] * 2


def several(x):
    return x.numel(), x.size(), [x.shape[0], x.shape[-1]]


def across_a_break(x):
    rows = x.shape[0]
    torch._dynamo.graph_break()
    return rows + x.shape[1]


def asked_again(x):
    sizes = x.size()
    return sizes, sizes[0], x.shape[0], x.size(), x.numel(), x.numel()


def in_a_dict(x):
    return {"rows": x.shape[0] + 1, "even": x.shape[1] % 2}


for function in doubled, several, across_a_break, asked_again, in_a_dict:
    show(function, torch.ones(3, 4))


@torch.compile(dynamic=True)
def beside_a_tensor(x):
    return x * x.shape[0], x.shape[0] + 1, x.shape[0], x.shape[0]


for n in 3, 5:
    y, *numbers = beside_a_tensor(torch.ones(n, requires_grad=True))
    print(y.sum().item(), numbers)

# An input that comes back as it is needs no graph.
graphs.clear()
x = torch.ones(3)
print(torch.compile(lambda x: x, backend=keep)(x) is x, graphs)

# A float that a call needs as a number stays an input of the graph.
norm = torch.nn.LayerNorm(4)
compiled = torch.compile(norm, backend=keep, dynamic=True)
x = torch.arange(8.0).reshape(2, 4)
with torch.no_grad():
    print(compiled(x)[0])
    norm.eps = 1.0
    print(compiled(x)[0], len(graphs))
