import torch
from torch import nn
m = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
torch.manual_seed(0)
for p in m.parameters(): nn.init.constant_(p, 0.5)
c = torch.compile(m, backend="cudagraphs")
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for n in (2, 2, 4):
    loss = c(torch.ones(n, 2)).pow(2).mean(); loss.backward(); opt.step(); opt.zero_grad()
    print(round(loss.item(), 4))
with torch.no_grad():
    b = torch.zeros(2)
    @torch.compile(backend="cudagraphs")
    def f(x, b):
        b.add_(1); return x + b
    print(f(torch.ones(2), b), b)
print("cudagraphs" in torch._dynamo.list_backends())
