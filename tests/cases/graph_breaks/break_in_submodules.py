import torch, torch.nn as nn
class Sub(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(4, 4)
    def forward(self, x):
        x = self.l(x)
        torch._dynamo.graph_break()
        return x.relu()
class M(nn.Module):
    def __init__(self):
        super().__init__(); self.a = Sub(); self.b = Sub(); self.out = nn.Linear(4, 2)
    def forward(self, x):
        return self.out(self.b(self.a(x)))
torch.manual_seed(0)
m = M(); c = torch.compile(m); y = c(torch.ones(2, 4)); y.sum().backward(); print(y, m.a.l.weight.grad.sum())
