import torch
from torch import nn
from torch.export import export
def attempt(f, *a):
    class M(nn.Module):
        def forward(s, *args): return f(*args)
    try: print(export(M(), a).graph_module.code)
    except Exception as e: print(type(e).__name__, str(e)[:300])
x = torch.tensor([1.0, 0.0, 2.0, -1.0])
attempt(lambda x: x[x > 0].sum(), x)
attempt(lambda x: x.nonzero(), x)
attempt(lambda x: x.nonzero().shape[0] + 1, x)
attempt(lambda x: (x.nonzero().float(), x[x > 1] * 2), x)
attempt(lambda x: torch.unique(x)[0].shape[0], x)
attempt(lambda x: x.masked_select(x > 0).view(-1, 1) @ torch.ones(1, 2), x)
attempt(lambda x: x.to(torch.float64) + x.long() + x.half().float(), x)
attempt(lambda x: x.double().to(torch.float32, copy=True), x)
