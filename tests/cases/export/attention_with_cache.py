import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import export
class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8); self.kv = nn.Linear(8, 16)
        self.register_buffer("cache", torch.zeros(1, 4, 8))
        self.register_buffer("step", torch.tensor(0))
    def forward(self, x):
        q = self.q(x)
        k, v = self.kv(x).split(8, dim=-1)
        self.cache[:, :2] = k
        self.step += 1
        o = F.scaled_dot_product_attention(q, self.cache, self.cache, is_causal=False)
        o = F.dropout(o, 0.1, self.training)
        return F.normalize(o + v.mean(1, keepdim=True), dim=-1), self.cache.sum()
torch.manual_seed(0)
m = Attn().eval()
ep = export(m, (torch.randn(1, 2, 8),))
print(ep)
ep2 = ep.run_decompositions({})
print(ep2)
mod = ep.module()
print(mod(torch.ones(1, 2, 8))[1], mod.step, m.step)
print(ep2.module()(torch.ones(1, 2, 8))[1])
print(ep2.module().code)
class Loss(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.crit = nn.CrossEntropyLoss(label_smoothing=0.1)
    def forward(self, x, y):
        return self.crit(self.net(x), y)
net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 3))
ep = export(Loss(net), (torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])))
print(ep.graph_module.code)
print(ep.run_decompositions().graph_module.code)
mm = ep.module()
opt = torch.optim.Adam(mm.parameters(), lr=0.05)
x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
for i in range(3):
    opt.zero_grad()
    l = mm(x, y)
    l.backward()
    opt.step()
    print(f"{l.item():.4f}")
