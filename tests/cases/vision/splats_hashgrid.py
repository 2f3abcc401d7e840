"""2D Gaussian splatting and an instant-NGP like hash grid fitted to the same picture."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def target_image(n=16):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, n), torch.linspace(-1, 1, n), indexing="ij")
    r = ((xx - 0.2).square() + (yy + 0.1) ** 2).sqrt()
    img = torch.stack([torch.sigmoid(8 * (0.5 - r)), 0.5 + 0.5 * torch.sin(4 * xx), (yy > 0).float() * 0.8], -1)
    return img, torch.stack([xx, yy], -1)


class Splats(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.xy = nn.Parameter(torch.rand(n, 2) * 2 - 1)
        self.log_scale = nn.Parameter(torch.full((n, 2), math.log(0.3)))
        self.theta = nn.Parameter(torch.zeros(n))
        self.color = nn.Parameter(torch.rand(n, 3).logit().clamp(-3, 3))
        self.opacity = nn.Parameter(torch.zeros(n))
        self.register_buffer("depth", torch.rand(n))

    def covariance(self):
        c, s = self.theta.cos(), self.theta.sin()
        R = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
        S = torch.diag_embed(self.log_scale.exp())
        M = R @ S
        return M @ M.mT

    def forward(self, grid):
        cov = self.covariance() + 1e-4 * torch.eye(2)
        inv = torch.linalg.inv(cov)
        order = self.depth.argsort()
        d = grid[:, :, None, :] - self.xy[order]
        power = -0.5 * torch.einsum("hwni,nij,hwnj->hwn", d, inv[order], d)
        alpha = (torch.sigmoid(self.opacity[order]) * power.exp()).clamp(max=0.99)
        trans = torch.cumprod(torch.cat([torch.ones_like(alpha[..., :1]), 1 - alpha[..., :-1]], -1), -1)
        weight = alpha * trans
        return torch.einsum("hwn,nc->hwc", weight, torch.sigmoid(self.color[order])), weight.sum(-1)

    @torch.no_grad()
    def densify(self, grad_threshold):
        g = self.xy.grad.norm(dim=-1)
        keep = torch.sigmoid(self.opacity) > 0.3
        clone = (g > grad_threshold) & keep
        new = {}
        for name, p in list(self.named_parameters()):
            q = torch.cat([p[keep], p[clone]])
            if name == "log_scale":
                q[keep.sum():] -= math.log(1.6)
            new[name] = nn.Parameter(q)
        for name, p in new.items():
            setattr(self, name, p)
        self.depth = torch.cat([self.depth[keep], self.depth[clone] + 1e-3])
        return int(clone.sum()), int((~keep).sum())


class HashGrid(nn.Module):
    PRIMES = (1, 2654435761)

    def __init__(self, levels=4, features=2, log2_size=6, base=4, growth=1.5):
        super().__init__()
        self.size = 2 ** log2_size
        self.resolutions = [int(base * growth ** l) for l in range(levels)]
        self.tables = nn.Parameter(torch.empty(levels, self.size, features).uniform_(-1e-2, 1e-2))
        self.mlp = nn.Sequential(nn.Linear(levels * features, 16), nn.ReLU(), nn.Linear(16, 3), nn.Sigmoid())

    def index(self, ij, res):
        if (res + 1) ** 2 <= self.size:
            return ij[..., 0] * (res + 1) + ij[..., 1]
        return (ij[..., 0] * self.PRIMES[0] ^ ij[..., 1] * self.PRIMES[1]) % self.size

    def forward(self, xy):
        u = (xy + 1) / 2
        feats = []
        for level, res in enumerate(self.resolutions):
            scaled = u * res
            low = scaled.floor().long().clamp(max=res - 1)
            frac = scaled - low
            out = 0
            for dx in (0, 1):
                for dy in (0, 1):
                    corner = low + torch.tensor([dx, dy])
                    w = (frac[..., 0] if dx else 1 - frac[..., 0]) * (frac[..., 1] if dy else 1 - frac[..., 1])
                    out = out + w[..., None] * self.tables[level][self.index(corner, res)]
            feats.append(out)
        return self.mlp(torch.cat(feats, -1))


def psnr(a, b):
    return -10 * torch.log10(F.mse_loss(a, b)).item()


torch.manual_seed(5)
img, grid = target_image()
splats = Splats(12)
render = torch.compile(splats, backend="aot_eager")
opt = torch.optim.Adam(splats.parameters(), lr=0.02)
for it in range(6):
    out, acc = render(grid)
    loss = 0.8 * (out - img).abs().mean() + 0.2 * (1 - acc).relu().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"splat {it}: loss {loss.item():.4f} psnr {psnr(out, img):.2f}")
    if it == 2:
        cloned, pruned = splats.densify(grad_threshold=0.02)
        print("cloned", cloned, "pruned", pruned, "now", len(splats.xy))
        opt = torch.optim.Adam([{"params": [splats.xy], "lr": 0.01}, {"params": [p for n, p in splats.named_parameters() if n != "xy"]}], lr=0.02)
print(torch.linalg.eigvalsh(splats.covariance()).min().item() > 0)

field = HashGrid()
print(field.resolutions)
fit = torch.compile(lambda g: F.mse_loss(field(g), img), backend="aot_eager")
opt = torch.optim.Adam([{"params": field.tables, "lr": 0.1}, {"params": field.mlp.parameters(), "lr": 0.01}], eps=1e-15)
for it in range(4):
    opt.zero_grad()
    loss = fit(grid)
    loss.backward()
    opt.step()
    print(f"hash {it}: {loss.item():.5f} touched {(field.tables.grad.abs().sum(-1) > 0).sum().item()}")
