import torch
import torch.nn as nn
import torch.nn.functional as F

@torch.compile
def pads(x):
    a = F.pad(x, (1, 1, 2, 0), mode="reflect")
    b = F.pad(x, (2, 1, 0, 1), mode="replicate")
    c = F.pad(x, (1, 0, 1, 0), mode="circular")
    d = F.pad(x, (1, -1), value=0.5)
    return a.mean() + 2 * b.mean() + 3 * c.mean() + d.sum()

class Pools(nn.Module):
    def __init__(self):
        super().__init__()
        self.mp = nn.MaxPool2d(2, return_indices=True)
        self.up = nn.MaxUnpool2d(2)
        self.lp = nn.LPPool2d(2, 2)
        self.ap = nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)
        self.ad = nn.AdaptiveMaxPool2d((2, None))
        self.aa = nn.AdaptiveAvgPool2d((None, 3))
    def forward(self, x):
        y, i = self.mp(x)
        z = self.up(y, i, output_size=x.shape[-2:])
        return z, self.lp(x.abs() + 0.1), self.ap(x), self.ad(x), self.aa(x)

torch.manual_seed(0)
x = torch.randn(1, 2, 5, 6, requires_grad=True)
l = pads(x)
l.backward()
print(f"{l.item():.5f}", x.grad.sum())
print(x.grad[0, 0])
x.grad = None
outs = torch.compile(Pools())(x)
print([tuple(o.shape) for o in outs])
sum(o.pow(2).sum() for o in outs).backward()
print(x.grad[0, 1])
