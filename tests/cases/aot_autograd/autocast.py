import torch
import torch.nn as nn
torch.manual_seed(0)
m = nn.Linear(4, 4)
@torch.compile
def f(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = m(x)
        with torch.autocast("cpu", enabled=False):
            z = y.float() @ m.weight
    return z.softmax(-1)
x = torch.randn(2, 4, requires_grad=True)
f(x).pow(2).sum().backward()
print(x.grad.dtype, m.weight.grad.dtype)
