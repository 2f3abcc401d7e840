# Numbers and sizes that values decide, in symbolic traces.
import torch
from torch.fx.experimental.proxy_tensor import make_fx
def t(f, *a):
    try: print(make_fx(f, tracing_mode="symbolic")(*a).code)
    except Exception as e: print(type(e).__name__, str(e).splitlines()[0][:150])
t(lambda x: x * x.sum().item(), torch.arange(3))
t(lambda x: x * x.sum().item(), torch.ones(3))
t(lambda x: torch.arange(x.max().item()), torch.arange(3))
t(lambda x: torch.zeros(int(x.max())), torch.arange(3))
t(lambda x: x if x.sum() > 0 else -x, torch.ones(3))
t(lambda x: x[x > 0].sum() + x.nonzero().shape[0], torch.ones(3))
t(lambda x: torch.unique(x), torch.ones(3))
t(lambda x: x[: x[0].item()], torch.arange(2))
def chk(x):
    n = x[0].item()
    torch._check(n >= 0)
    torch._check(n <= 5)
    return torch.ones(n)
t(chk, torch.arange(2))
t(lambda x: (x[x > 1], x.nonzero(), x + torch.allclose(x, x)), torch.ones(3))
