"""With dynamic=True floats are symbols from the start: of modules, defaults, globals; those that something needs are numbers again."""

import torch, torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln, self.drop, self.bn = nn.LayerNorm(4), nn.Dropout(0.25), nn.BatchNorm1d(4)
        self.scale, self.act = 0.5, nn.LeakyReLU(0.2)
    def forward(self, x, t: float = 2.0):
        return self.act(self.drop(self.bn(self.ln(x)))) * self.scale / t
m = M()
f = torch.compile(m, dynamic=True)
print(f(torch.ones(3, 4)).shape); print(f(torch.ones(5, 4), 3.0).shape)
G = 0.125
cfg = {"lr": 0.1, "eps": 1e-8}
@torch.compile(dynamic=True)
def step(p, g, lr):
    return p - lr * g * G / (g.abs() + cfg["eps"]).clamp(min=cfg["lr"])
print(step(torch.ones(3), torch.ones(3), 0.1)); print(step(torch.ones(4), torch.ones(4), 0.2))
@torch.compile(dynamic=True)
def br(x, a):
    if a > 1.0: return x * a
    return torch.clamp(x, -a, a) + torch.full((2,), a)
print(br(torch.ones(2), 0.5), br(torch.ones(3), 1.5) )
