# A checkpointed function runs again under the autocast of its forward, in eager mode and where the graph breaks around it.
import torch
from torch.utils.checkpoint import checkpoint

x = torch.tensor([[0.5, 1.0], [1.5, 2.0]], requires_grad=True)
seen = []


def products(v):
    y = v @ v
    seen.append((y.dtype, torch.is_autocast_enabled("cpu")))
    return y.sin()


for use_reentrant in (False, True):
    for outside in (False, True):
        x.grad = None
        seen.clear()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not outside):
            y = checkpoint(products, x * 1, use_reentrant=use_reentrant)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=outside):
            y.float().sum().backward()
        print(use_reentrant, outside, seen, x.grad)


def whole(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = checkpoint(lambda v: (print("in the function"), v @ v)[1], x, use_reentrant=False)
    return y.float().sum()


x.grad = None
torch.compile(whole)(x).backward()
print(x.grad, torch.is_autocast_enabled("cpu"))
with torch.no_grad():
    print(torch.compile(whole)(x))
