import torch
from torch.export import export

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))
        self.const = torch.arange(3.0)
    def forward(self, x, *, flag=True, pair=(1, 2.0)):
        with torch.no_grad():
            z = x * self.w
        y = z + self.const + torch.tensor([1.0, 2.0, 3.0])
        y[0] = 5
        a, b = x.split(1)
        y = y + pair[0] * a
        x.add_(1)
        return y, x, (a.item() if False else 3)

m = M()
ep = export(m, (torch.randn(2, 3),), {"flag": False, "pair": (3, 2.5)})
print(ep)
print(ep.graph_signature)
print(ep.constants)
d = ep.run_decompositions({})
print(d.graph_module.code)
print(ep.module()(torch.ones(2, 3), flag=False, pair=(3, 2.5)))

class N(torch.nn.Module):
    def forward(self, batch):
        return [batch["a"] + batch["b"][0], batch["b"][1].sum()]
ep = export(N(), ({"a": torch.ones(2), "b": [torch.ones(2), torch.ones(3)]},))
print(ep)
print(ep.module()({"a": torch.ones(2), "b": [torch.ones(2), torch.ones(3)]}))
def f(x): return x
try:
    export(f, (torch.ones(2),))
except Exception as e:
    print(type(e).__name__, e)
try:
    export(N(), torch.ones(2))
except Exception as e:
    print(type(e).__name__, e)
try:
    ep(1)
except Exception as e:
    print(type(e).__name__, e)
