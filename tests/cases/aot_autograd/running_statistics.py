import torch
import torch.nn as nn
torch.manual_seed(0)
m = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU())
c = torch.compile(m)
x = torch.randn(2, 1, 5, 5)
c(x).mean().backward()
print(m[1].running_mean, m[1].num_batches_tracked, m[0].weight.grad.sum())
m.eval()
with torch.no_grad(): print(c(x).sum())
