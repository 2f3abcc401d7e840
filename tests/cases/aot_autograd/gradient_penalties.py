import torch, torch.nn as nn
class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    def forward(self, x):
        return self.net(x)
def penalty(d, real, fake, lam=10.0):
    b = real.size(0)
    eps = torch.full((b, 1), 0.3)
    inter = eps * real + (1 - eps) * fake
    inter.requires_grad_(True)
    out = d(inter)
    grads = torch.autograd.grad(outputs=out, inputs=inter, grad_outputs=torch.ones_like(out), create_graph=True, retain_graph=True)[0]
    return lam * ((grads.view(b, -1).norm(2, dim=1) - 1) ** 2).mean()
torch.manual_seed(0)
d = D()
@torch.compile
def d_loss(real, fake):
    return d(fake).mean() - d(real).mean()
real, fake = torch.randn(3, 4), torch.randn(3, 4)
l = d_loss(real, fake) + penalty(d, real, fake)
l.backward()
print(f"{l.item():.4f} {d.net[0].weight.grad.norm().item():.4f}")
@torch.compile
def whole(real, fake):
    l = d.net(fake).mean() - d.net(real).mean()
    return l + penalty(d.net, real, fake)
d.zero_grad()
l = whole(real, fake)
l.backward()
print(f"{l.item():.4f} {d.net[0].weight.grad.norm().item():.4f}")
