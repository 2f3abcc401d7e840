import torch, torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(4, momentum=0.2)
        self.c2 = nn.Conv2d(4, 4, 1, groups=2)
        self.gn = nn.GroupNorm(2, 4)
        self.inn = nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
    def forward(self, x):
        x = torch.relu_(self.bn(self.c(x)))
        x = self.gn(self.c2(x)) + self.inn(x)
        return nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
torch.manual_seed(0)
n = Net().to(memory_format=torch.channels_last)
opt = torch.optim.SGD(n.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
c = torch.compile(n)
x = torch.randn(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)
for i in range(3):
    opt.zero_grad()
    l = c(x).pow(2).sum()
    l.backward()
    opt.step()
    print(f"{l.item():.4f}")
print(n.bn.num_batches_tracked, n.bn.running_mean, n.inn.running_var)
n.eval()
with torch.no_grad():
    print(c(x).shape)
