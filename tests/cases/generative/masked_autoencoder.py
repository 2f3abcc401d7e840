"""Masked autoencoder for tiny images, in the style of MAE."""
import math
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(42)


def sincos(n, d):
    pos = torch.arange(n, dtype=torch.float32)[:, None]
    omega = torch.exp(-math.log(10000.0) * torch.arange(0, d, 2) / d)
    out = torch.zeros(n, d)
    out[:, 0::2] = torch.sin(pos * omega)
    out[:, 1::2] = torch.cos(pos * omega)
    return out


class Attention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.h, C // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(B, N, C))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class MAE(nn.Module):
    def __init__(self, img=8, patch=2, dim=16, ddim=8, ratio=0.75):
        super().__init__()
        self.p, self.ratio = patch, ratio
        n = (img // patch) ** 2
        self.embed = nn.Conv2d(1, dim, patch, patch)
        self.register_buffer("pos", sincos(n, dim)[None])
        self.register_buffer("dpos", sincos(n, ddim)[None])
        self.enc = nn.ModuleList([Block(dim) for _ in range(2)])
        self.norm = nn.LayerNorm(dim)
        self.to_dec = nn.Linear(dim, ddim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, ddim))
        self.dec = nn.ModuleList([Block(ddim)])
        self.head = nn.Linear(ddim, patch * patch)
        nn.init.normal_(self.mask_token, std=0.02)
        self.apply(self._init)

    @staticmethod
    def _init(m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            if m.bias is not None:
                nn.init.constant_(m.bias, 0)

    def patchify(self, x):
        B, C, H, W = x.shape
        p = self.p
        x = x.reshape(B, C, H // p, p, W // p, p)
        return torch.einsum("bchpwq->bhwpqc", x).reshape(B, (H // p) * (W // p), p * p * C)

    def forward(self, img, noise):
        x = self.embed(img).flatten(2).transpose(1, 2) + self.pos
        B, N, D = x.shape
        keep = int(N * (1 - self.ratio))
        order = noise.argsort(dim=1)
        restore = order.argsort(dim=1)
        ids = order[:, :keep]
        x = torch.gather(x, 1, ids.unsqueeze(-1).expand(-1, -1, D))
        mask = torch.ones(B, N, device=x.device)
        mask[:, :keep] = 0
        mask = torch.gather(mask, 1, restore)
        for b in self.enc:
            x = b(x)
        x = self.to_dec(self.norm(x))
        m = self.mask_token.repeat(B, N - keep, 1)
        x = torch.cat([x, m], dim=1)
        x = torch.gather(x, 1, restore.unsqueeze(-1).repeat(1, 1, x.shape[2])) + self.dpos
        for b in self.dec:
            x = b(x)
        pred = self.head(x)
        target = self.patchify(img)
        mean, var = target.mean(-1, keepdim=True), target.var(-1, keepdim=True)
        target = (target - mean) / (var + 1e-6) ** 0.5
        loss = ((pred - target) ** 2).mean(-1)
        return (loss * mask).sum() / mask.sum(), pred, mask


model = MAE()
print(sum(p.numel() for p in model.parameters()))
compiled = torch.compile(model)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.05)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 3))
imgs = torch.rand(6, 1, 8, 8)
for step in range(4):
    loss, pred, mask = compiled(imgs, torch.rand(6, 16))
    opt.zero_grad()
    loss.backward()
    gn = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    print(f"{step} loss {loss.item():.3f} gn {gn.item():.2f} lr {sched.get_last_lr()[0]:.4f} masked {int(mask.sum())}")
