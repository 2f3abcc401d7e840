import torch
from torch import nn
from torch.export import export
class M(nn.Module):
    def forward(s, x, a=True, b="s", c=None, d=1.5, *, e=False, f=None, g="z"):
        return x + 1
ep = export(M(), (torch.ones(2), True, "s", None, 1.5), dict(e=False, f=None, g="z"))
m = ep.module()
x = torch.ones(2)
base = dict(a=True, b="s", c=None, d=1.5, e=False, f=None, g="z")
for k, v in (("a", False), ("b", "q"), ("c", 3), ("d", 2.5), ("e", True), ("f", 4), ("g", "y"), ("a", 1), ("d", 1)):
    n = {**base, k: v}
    try: m(x, n["a"], n["b"], n["c"], n["d"], e=n["e"], f=n["f"], g=n["g"]); print(k, v, "ok")
    except Exception as e: print(k, v, type(e).__name__, e)
class N(nn.Module):
    def forward(s, x, *rest, **kw): return x + 1
m = export(N(), (torch.ones(2), torch.ones(3), 4), dict(z=torch.ones(2), w=5)).module()
for a, k in (((torch.ones(2), torch.ones(4), 4), dict(z=torch.ones(2), w=5)), ((torch.ones(2), torch.ones(3), 5), dict(z=torch.ones(2), w=5)), ((torch.ones(2), torch.ones(3), 4), dict(z=torch.ones(3), w=5)), ((torch.ones(2), torch.ones(3), 4), dict(z=torch.ones(2), w=6))):
    try: m(*a, **k); print("ok")
    except Exception as e: print(type(e).__name__, e)
