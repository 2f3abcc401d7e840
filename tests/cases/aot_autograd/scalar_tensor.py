import torch

@torch.compile
def f(x, s):
    s.add_(1)
    return x * s, s.expand(2)
x, s = torch.ones(2, requires_grad=True), torch.tensor(2.)
a, e = f(x, s)
print(a, e, s, e._base is s)
