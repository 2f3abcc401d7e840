import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 4)
    def forward(self, x):
        return x + self.b(torch.nn.functional.gelu(self.a(x)))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
    def forward(self, x):
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False)
        return x.relu()
net = Net()
c = torch.compile(net)
x = torch.randn(2, 4, requires_grad=True)
c(x).sum().backward()
print(round(x.grad.sum().item(), 4), [round(p.grad.norm().item(), 4) for p in net.parameters()])
