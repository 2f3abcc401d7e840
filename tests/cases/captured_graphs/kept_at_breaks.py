"""What a graph gives where it ends: what is read later, not what only variables hold that nobody reads again."""

import torch


def show(gm, example_inputs):
    print(gm.graph)
    return gm


@torch.compile(backend=show)
def kept_in_lists(a, b, n):
    kept = []
    for i in range(n):
        a = a @ b + i
        kept.append(a.mean(dim=0, keepdim=True))
    y = torch.stack(kept, 0).amax(0)
    print("break")
    return y + 1


@torch.compile(backend=show)
def read_later(a):
    kept, left = [a.sin(), a.cos()], {"a": a.tan(), "b": (a.exp(),)}
    s = kept[0] + left["b"][0]
    torch._dynamo.graph_break()
    return s + kept[1]


@torch.compile(backend=show)
def after_a_block(a):
    y = a.sin()
    with torch.no_grad():
        w = y.abs()
    print("break")
    return y + 1


print(kept_in_lists(torch.ones(2, 3), torch.eye(3), 2))
print(read_later(torch.ones(3)))
print(after_a_block(torch.ones(3)))
