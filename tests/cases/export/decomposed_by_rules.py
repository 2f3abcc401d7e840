import torch
from torch import nn
from torch.export import export, Dim, default_decompositions
import torch.nn.functional as F

def ops(ep): return [str(n.target) for n in ep.graph.nodes if n.op == "call_function"]

lib = torch.library.Library("mine", "DEF")
@torch.library.custom_op("mine::scaled", mutates_args=())
def scaled(x: torch.Tensor, k: float) -> torch.Tensor:
    return x * k
@scaled.register_fake
def _(x, k): return torch.empty_like(x)

class M(nn.Module):
    def __init__(s):
        super().__init__(); s.w = nn.Parameter(torch.ones(3)); s.e = nn.Embedding(5, 3); s.g = nn.GRUCell(3, 3)
    def forward(s, t, h):
        x = s.e(t)
        h = s.g(x, h)
        y = torch.ops.mine.scaled(h, 2.0)
        z = torch.einsum("bi,bj->bij", y, x)
        a = F.scaled_dot_product_attention(z[None], z[None], z[None])
        y.mul_(2)
        return a, torch.where(y > 0, y, -y), y.split(1, 1)[0], torch.stack([x, y]).sum(0), F.cross_entropy(y, t % 3)
m = M()
t, h = torch.tensor([1, 2]), torch.zeros(2, 3)
ep = export(m, (t, h))
print(ops(ep)); d = ep.run_decompositions(); print(ops(d))
mine = {torch.ops.mine.scaled.default: lambda x, k: x.mul(k)}
print(ops(ep.run_decompositions(mine)))
tab = default_decompositions(); tab[torch.ops.mine.scaled.default] = lambda x, k: torch.ops.aten.mul.Scalar(x, k)
tab.pop(torch.ops.aten.scaled_dot_product_attention.default, None)
print(ops(ep.run_decompositions(tab)))
print(type(tab).__name__, torch.ops.aten.matmul.default in tab, torch.ops.aten.mm.default in tab)
print(torch.allclose(d.module()(t, h)[0], m(t, h)[0]))
try:
    ep.run_decompositions({torch.ops.aten.add: lambda a, b: a})
    print("ok")
except Exception as e: print(type(e).__name__, str(e)[:200])
def bad(x, k): raise ValueError("no rule")
try: ep.run_decompositions({torch.ops.mine.scaled.default: bad})
except Exception as e: print(type(e).__name__, str(e).splitlines()[0])
try: tab.pop(torch.ops.aten.mm.default)
except Exception as e: print(type(e).__name__, e)
try: ep(t, h)
except Exception as e: print(type(e).__name__, e)
try: ep.module()(t)
except Exception as e: print(type(e).__name__, str(e)[:600])
try: ep.module()(t, h[:, :2])
except Exception as e: print(type(e).__name__, str(e)[:300])
try: ep.module().train()
except Exception as e: print(type(e).__name__, e)
