import torch


def show(gm, inputs):
    print(gm.code.strip())
    return gm.forward


ones, weight = torch.ones(2), torch.ones(2, requires_grad=True)


@torch.compile(backend=show)
def in_block(x, w):
    y = x * w
    with torch.no_grad():
        z = y + 1
        torch._dynamo.graph_break()
        z = z * 2
    return z + w


@torch.compile(backend=show)
def by_function(x, w):
    y = x * w
    torch.set_grad_enabled(False)
    z = y + 1
    torch._dynamo.graph_break()
    z = z * 2
    torch.set_grad_enabled(True)
    return z + w


print(in_block(ones, weight))
print(by_function(ones, weight))
