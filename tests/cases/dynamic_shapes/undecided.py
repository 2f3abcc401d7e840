"""Where the way of a program depends on a number that only the run knows: an error with `fullgraph`, a break without."""

import torch

torch._dynamo.config.capture_scalar_outputs = True


def branch(x):
    n = x.item()
    if n > 3:
        return x + 1
    return x - 1


def size(x):
    return torch.zeros(4)[: x.item()] if x.item() == 2 else x


for function in (branch, size):
    compiled = torch.compile(function, fullgraph=True)
    try:
        compiled(torch.tensor(5))
    except Exception as error:
        print(type(error).__name__)
        print(str(error).splitlines()[0])
torch._dynamo.reset()
print(torch.compile(branch)(torch.tensor(5)), torch.compile(branch)(torch.tensor(2)))
