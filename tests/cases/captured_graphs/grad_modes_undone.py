"""Changes of the grad mode that the next one takes back are not in a graph; their names are used up."""

import torch


def show(gm, example_inputs):
    print(gm.graph)
    return gm


@torch.compile(backend=show)
def one_after_another(x):
    with torch.no_grad():
        x = x.sin()
    with torch.no_grad():
        x = x.cos()
    with torch.enable_grad():
        return x * 2


@torch.compile(backend=show)
def empty(x):
    x = x.sin()
    with torch.no_grad():
        pass
    with torch.no_grad():
        with torch.enable_grad():
            x = x.cos()
    return x


print(one_after_another(torch.ones(2)), empty(torch.ones(2)))
with torch.no_grad():
    print(one_after_another(torch.ones(2)), empty(torch.ones(2)))
