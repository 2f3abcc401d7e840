import torch, torch.nn as nn
from torch.utils.checkpoint import checkpoint
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.a=nn.Linear(8,16); s.d=nn.Dropout(0.3); s.b=nn.Linear(16,8)
    def body(s,x): return s.d(torch.relu(s.a(x)))
    def forward(s,x): return s.b(checkpoint(s.body,x,use_reentrant=False)).pow(2).mean()
torch.manual_seed(0); m=M(); x=torch.randn(4,8)
torch.manual_seed(1); l=torch.compile(m,backend="aot_eager")(x); l.backward(); print(l.item(), m.a.weight.grad.norm().item())
torch.manual_seed(1); m.zero_grad(); l=m(x); l.backward(); print(l.item(), m.a.weight.grad.norm().item())
