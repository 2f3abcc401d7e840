import torch, torch.nn as nn, torch.nn.functional as F
class UNetBlock(nn.Module):
    def __init__(self, ci, co):
        super().__init__()
        self.c1 = nn.Conv2d(ci, co, 3, padding=1); self.n1 = nn.GroupNorm(2, co)
        self.c2 = nn.Conv2d(co, co, 3, padding=1); self.n2 = nn.GroupNorm(2, co)
        self.t = nn.Linear(4, co)
        self.s = nn.Conv2d(ci, co, 1) if ci != co else nn.Identity()
    def forward(self, x, t):
        h = F.silu(self.n1(self.c1(x))) + self.t(t)[:, :, None, None]
        return self.s(x) + F.silu(self.n2(self.c2(h)))
class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = UNetBlock(1, 4); self.m = UNetBlock(4, 4); self.u = UNetBlock(8, 4); self.o = nn.Conv2d(4, 1, 1)
        self.down = nn.Conv2d(4, 4, 3, stride=2, padding=1)
    def forward(self, x, t):
        half = torch.arange(2, dtype=torch.float32)
        a = t[:, None] * torch.exp(-half)[None]
        e = torch.cat([a.sin(), a.cos()], -1)
        h = self.d(x, e)
        m = self.m(self.down(h), e)
        m = F.interpolate(m, scale_factor=2, mode="nearest")
        return self.o(self.u(torch.cat([m, h], 1), e))
torch.manual_seed(0)
n = Tiny(); c = torch.compile(n)
x = torch.randn(2, 1, 4, 4); t = torch.tensor([0.1, 0.5])
with torch.autocast("cpu", dtype=torch.bfloat16):
    o = c(x, t)
l = F.mse_loss(o.float(), x)
l.backward()
print(o.dtype, f"{l.item():.2f}", n.d.c1.weight.grad.dtype)
