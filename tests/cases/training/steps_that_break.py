"""An optimizer whose step reads numbers of tensors: PyTorch compiles nothing of it, also where a compiled function calls it."""

import torch

graphs = []


def keep(gm, example_inputs):
    graphs.append(len(list(gm.graph.nodes)))
    return gm


torch.manual_seed(0)
weight = torch.nn.Parameter(torch.randn(3, 2))
optimizer = torch.optim.Adafactor([weight], lr=0.1)
step = torch.compile(optimizer.step, backend=keep)
for i in range(3):
    weight.grad = torch.full((3, 2), i + 1.0)
    step()
    print(len(graphs), weight.detach().flatten())


@torch.compile(backend=keep)
def around(x):
    y = x * 2
    optimizer.step()
    return y + weight


print(around(torch.ones(3, 2)).detach().flatten(), len(graphs))
