"""Conditional flow matching in two dimensions: U-Net-free, with an EMA, classifier-free guidance and ODE solvers."""
import copy
import math
import random

import torch
from torch import nn, Tensor
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
random.seed(0)


class Moons(Dataset):
    def __init__(self, n):
        self.n = n
        g = torch.Generator().manual_seed(5)
        t = torch.rand(n, generator=g) * math.pi
        y = torch.arange(n) % 2
        x = torch.where(y == 0, torch.cos(t), 1 - torch.cos(t))
        z = torch.where(y == 0, torch.sin(t), 0.5 - torch.sin(t))
        self.data = torch.stack([x, z], 1) + 0.05 * torch.randn(n, 2, generator=g)
        self.labels = y

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.data[i], self.labels[i]


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim, theta=10000):
        super().__init__()
        self.dim = dim
        self.theta = theta

    def forward(self, x):
        half_dim = self.dim // 2
        emb = math.log(self.theta) / (half_dim - 1)
        emb = torch.exp(torch.arange(half_dim, device=x.device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class AdaLN(nn.Module):
    def __init__(self, dim, cond_dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(cond_dim, 3 * dim))
        self.net = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        nn.init.zeros_(self.modulation[-1].weight)
        nn.init.zeros_(self.modulation[-1].bias)

    def forward(self, x, c):
        shift, scale, gate = self.modulation(c).chunk(3, dim=-1)
        return x + gate * self.net(self.norm(x) * (1 + scale) + shift)


class Flow(nn.Module):
    def __init__(self, dim=2, h=32, num_classes=2, depth=2):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(16), nn.Linear(16, h), nn.SiLU(), nn.Linear(h, h))
        self.label = nn.Embedding(num_classes + 1, h)
        self.null = num_classes
        self.proj_in = nn.Linear(dim, h)
        self.blocks = nn.ModuleList(AdaLN(h, h) for _ in range(depth))
        self.proj_out = nn.Linear(h, dim)

    def forward(self, x_t: Tensor, t: Tensor, y: Tensor) -> Tensor:
        c = self.time_mlp(t) + self.label(y)
        h = self.proj_in(x_t)
        for block in self.blocks:
            h = block(h, c)
        return self.proj_out(h)

    def guided(self, x, t, y, w=1.5):
        cond = self(x, t, y)
        uncond = self(x, t, torch.full_like(y, self.null))
        return uncond + w * (cond - uncond)


class EMA:
    def __init__(self, model, decay=0.9, start=1):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.start, self.step_ = decay, start, 0

    @torch.no_grad()
    def update(self, model):
        self.step_ += 1
        if self.step_ <= self.start:
            self.model.load_state_dict(model.state_dict())
            return
        for ema_p, p in zip(self.model.parameters(), model.parameters()):
            ema_p.lerp_(p, 1 - self.decay)


flow = Flow()
ema = EMA(flow)
loader = DataLoader(Moons(32), batch_size=16, shuffle=True, drop_last=True, generator=torch.Generator().manual_seed(2))
optimizer = torch.optim.AdamW(flow.parameters(), 1e-2)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=2)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4, eta_min=1e-4)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[2])
velocity = torch.compile(flow)
for epoch in range(3):
    for x_1, y in loader:
        x_0 = torch.randn_like(x_1)
        t = torch.rand(len(x_1))
        drop = torch.rand(len(y)) < 0.1
        y = y.masked_fill(drop, flow.null)
        x_t = (1 - t[:, None]) * x_0 + t[:, None] * x_1
        dx_t = x_1 - x_0
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(velocity(x_t, t, y), dx_t)
        loss.backward()
        optimizer.step()
        scheduler.step()
        ema.update(flow)
    print(f"epoch {epoch} loss {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.6f}")

with torch.no_grad():
    y = torch.tensor([0, 1, 0, 1])
    x = torch.randn(4, 2)
    n = 4
    for i in range(n):
        t = torch.full((4,), i / n)
        k1 = ema.model.guided(x, t, y)
        k2 = ema.model.guided(x + k1 / n / 2, t + 0.5 / n, y)
        x = x + k2 / n
    print(x)
    ts = torch.linspace(0, 1, n + 1)
    z = torch.randn(4, 2)
    for a, b in zip(ts[:-1], ts[1:]):
        z += (b - a) * ema.model(z, a.expand(4), y)
    print(z.mean(0), z.std(0))


def log_prob(model, x, y, steps=3):
    """Backward in time, with the divergence by Hutchinson's estimate."""
    logdet = torch.zeros(len(x))
    eps = torch.randn_like(x)
    for i in range(steps):
        t = torch.full((len(x),), 1 - i / steps)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            v = model(x, t, y)
            vjp = torch.autograd.grad(v, x, eps)[0]
        logdet = logdet - (vjp * eps).sum(-1) / steps
        x = (x - v / steps).detach()
    return torch.distributions.Normal(0, 1).log_prob(x).sum(-1) + logdet


print(log_prob(ema.model, Moons(4).data, y))
