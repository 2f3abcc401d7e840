import torch
def inner(x):
    for i in range(2):
        x = x * 2
        torch._dynamo.graph_break()
    return x
@torch.compile
def f(x):
    y = x + 1
    z = inner(y)
    return z - y
print(f(torch.ones(2)))
