import torch, torch.nn as nn, warnings
from torch.export import export
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(()))
        self.register_buffer("ema", torch.zeros(3))
        self.last = None
        self.t = torch.zeros(3)
    def forward(self, x):
        self.n = self.n + 1
        self.ema = self.ema * 0.9 + x.mean(0) * 0.1
        return x - self.ema * self.n
m = A()
ep = export(m, (torch.ones(2, 3),))
print(ep)
print(ep.run_decompositions({}))
mm = ep.module()
print(mm(torch.ones(2, 3)), mm.n, mm.ema, m.n)
class B(A):
    def forward(self, x):
        self.t = x.sum(0)
        return x + self.t
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    try:
        print(export(B(), (torch.ones(2, 3),)).graph_module.code)
    except Exception as e:
        print(type(e).__name__, e)
    print([str(i.message)[:300] for i in w])
class C(A):
    def forward(self, x):
        self.last = x.sum(0)
        return x + self.last
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    try:
        print(export(C(), (torch.ones(2, 3),)).graph_module.code)
    except Exception as e:
        print(type(e).__name__, e)
    print([str(i.message)[:300] for i in w])
