# One mask counts its elements once, until it is written to.
import torch
torch._dynamo.config.capture_dynamic_output_shape_ops = True
@torch.compile(fullgraph=True)
def f(x, m):
    a = x[m]
    b = m.nonzero().squeeze(-1)
    c = x[m] * 2
    m2 = m.logical_not()
    d = x[m2]
    return a + c, b, d, torch.masked_select(x, m)
print(f(torch.arange(4.), torch.tensor([True, False, True, True])))
@torch.compile(fullgraph=True)
def g(x):
    a = x.nonzero()
    x.add_(1)
    return a, x.nonzero()
print(g(torch.tensor([0, 1, -1])))
