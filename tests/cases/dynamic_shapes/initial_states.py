import torch, torch.nn as nn
class GRUish(nn.Module):
    def __init__(s, d):
        super().__init__(); s.wz = nn.Linear(2*d, d); s.wh = nn.Linear(2*d, d)
    def forward(s, xs, h=None):
        b, t, d = xs.shape
        h = xs.new_zeros(b, d) if h is None else h
        ys = []
        for x in xs.unbind(1):
            c = torch.cat([x, h], -1)
            z = torch.sigmoid(s.wz(c)); h = (1 - z) * h + z * torch.tanh(s.wh(c))
            ys.append(h)
        return torch.stack(ys, 1), h
torch.manual_seed(1)
m = torch.compile(GRUish(4), dynamic=True)
for b, t in [(2, 3), (4, 3), (3, 5)]:
    y, h = m(torch.randn(b, t, 4))
    y.pow(2).mean().backward()
    print(y.shape, f"{h.sum().item():.5f}")
print([f"{p.grad.norm().item():.5f}" for p in m.parameters()])
