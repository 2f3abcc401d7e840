# UNet diffusion w/ time embedding, group norm, attention, EMA, DDIM, cosine schedule, dataclass config
import torch, math, copy
from torch import nn, einsum
from torch.nn import functional as F
from functools import partial
from collections import namedtuple
torch.manual_seed(0)
def exists(x): return x is not None
def default(val, d): return val if exists(val) else (d() if callable(d) else d)
class Residual(nn.Module):
    def __init__(self, fn): super().__init__(); self.fn = fn
    def forward(self, x, *args, **kwargs): return self.fn(x, *args, **kwargs) + x
class RMSNorm(nn.Module):
    def __init__(self, dim): super().__init__(); self.g = nn.Parameter(torch.ones(1, dim, 1, 1))
    def forward(self, x): return F.normalize(x, dim=1) * self.g * (x.shape[1] ** 0.5)
class PreNorm(nn.Module):
    def __init__(self, dim, fn): super().__init__(); self.fn, self.norm = fn, RMSNorm(dim)
    def forward(self, x): return self.fn(self.norm(x))
class SinPos(nn.Module):
    def __init__(self, dim, theta=10000): super().__init__(); self.dim, self.theta = dim, theta
    def forward(self, x):
        half = self.dim // 2
        emb = math.log(self.theta) / (half - 1)
        emb = torch.exp(torch.arange(half, device=x.device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)
class Block(nn.Module):
    def __init__(self, dim, out, groups=4):
        super().__init__(); self.proj, self.norm, self.act = nn.Conv2d(dim, out, 3, padding=1), nn.GroupNorm(groups, out), nn.SiLU()
    def forward(self, x, scale_shift=None):
        x = self.norm(self.proj(x))
        if exists(scale_shift):
            scale, shift = scale_shift
            x = x * (scale + 1) + shift
        return self.act(x)
class ResnetBlock(nn.Module):
    def __init__(self, dim, out, *, time_emb_dim=None, groups=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_emb_dim, out * 2)) if exists(time_emb_dim) else None
        self.block1, self.block2 = Block(dim, out, groups), Block(out, out, groups)
        self.res_conv = nn.Conv2d(dim, out, 1) if dim != out else nn.Identity()
    def forward(self, x, time_emb=None):
        scale_shift = None
        if exists(self.mlp) and exists(time_emb):
            time_emb = self.mlp(time_emb)[:, :, None, None]
            scale_shift = time_emb.chunk(2, dim=1)
        h = self.block1(x, scale_shift=scale_shift)
        return self.block2(h) + self.res_conv(x)
class LinearAttention(nn.Module):
    def __init__(self, dim, heads=2, dim_head=4):
        super().__init__(); self.scale, self.heads = dim_head ** -0.5, heads; h = dim_head * heads
        self.to_qkv = nn.Conv2d(dim, h * 3, 1, bias=False); self.to_out = nn.Sequential(nn.Conv2d(h, dim, 1), RMSNorm(dim))
    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = map(lambda t: t.reshape(b, self.heads, -1, h * w), self.to_qkv(x).chunk(3, dim=1))
        q, k = q.softmax(dim=-2) * self.scale, k.softmax(dim=-1)
        ctx = einsum("b h d n, b h e n -> b h d e", k, v)
        return self.to_out(einsum("b h d e, b h d n -> b h e n", ctx, q).reshape(b, -1, h, w))
class Attention(LinearAttention):
    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = [t.reshape(b, self.heads, -1, h * w) for t in self.to_qkv(x).chunk(3, 1)]
        sim = einsum("b h d i, b h d j -> b h i j", q * self.scale, k)
        out = einsum("b h i j, b h d j -> b h i d", sim.softmax(-1), v)
        return self.to_out(out.permute(0, 1, 3, 2).reshape(b, -1, h, w))
class Unet(nn.Module):
    def __init__(self, dim=8, mults=(1, 2), channels=1):
        super().__init__()
        self.init_conv = nn.Conv2d(channels, dim, 7, padding=3)
        dims = [dim, *map(lambda m: dim * m, mults)]; io = list(zip(dims[:-1], dims[1:]))
        t = dim * 4
        self.time_mlp = nn.Sequential(SinPos(dim), nn.Linear(dim, t), nn.GELU(), nn.Linear(t, t))
        block = partial(ResnetBlock, time_emb_dim=t)
        self.downs, self.ups = nn.ModuleList([]), nn.ModuleList([])
        for i, (a, b) in enumerate(io):
            last = i >= len(io) - 1
            self.downs.append(nn.ModuleList([block(a, a), block(a, a), Residual(PreNorm(a, LinearAttention(a))), nn.Conv2d(a, b, 4, 2, 1) if not last else nn.Conv2d(a, b, 3, padding=1)]))
        m = dims[-1]
        self.mid1, self.mid_attn, self.mid2 = block(m, m), Residual(PreNorm(m, Attention(m))), block(m, m)
        for i, (a, b) in enumerate(reversed(io)):
            last = i == len(io) - 1
            self.ups.append(nn.ModuleList([block(b + a, b), block(b + a, b), Residual(PreNorm(b, LinearAttention(b))), nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(b, a, 3, padding=1)) if not last else nn.Conv2d(b, a, 3, padding=1)]))
        self.final, self.out = block(dim * 2, dim), nn.Conv2d(dim, channels, 1)
    def forward(self, x, time):
        assert all(d % 2 == 0 for d in x.shape[-2:]), f"your input dimensions {x.shape[-2:]} need to be divisible"
        x = self.init_conv(x); r = x.clone(); t = self.time_mlp(time); h = []
        for b1, b2, attn, down in self.downs:
            x = b1(x, t); h.append(x); x = attn(b2(x, t)); h.append(x); x = down(x)
        x = self.mid2(self.mid_attn(self.mid1(x, t)), t)
        for b1, b2, attn, up in self.ups:
            x = b1(torch.cat((x, h.pop()), dim=1), t); x = b2(torch.cat((x, h.pop()), dim=1), t); x = up(attn(x))
        return self.out(self.final(torch.cat((x, r), dim=1), t))
def cosine_betas(T, s=0.008):
    x = torch.linspace(0, T, T + 1, dtype=torch.float64)
    a = torch.cos(((x / T) + s) / (1 + s) * math.pi * 0.5) ** 2
    a = a / a[0]
    return torch.clip(1 - a[1:] / a[:-1], 0, 0.999)
def extract(a, t, shape):
    return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))
class Diffusion(nn.Module):
    def __init__(self, model, T=10):
        super().__init__(); self.model, self.T = model, T
        betas = cosine_betas(T); ac = torch.cumprod(1. - betas, 0); prev = F.pad(ac[:-1], (1, 0), value=1.)
        reg = lambda n, v: self.register_buffer(n, v.to(torch.float32))
        reg("betas", betas); reg("ac", ac); reg("sqrt_ac", ac.sqrt()); reg("sqrt_1m", (1 - ac).sqrt()); reg("snr_w", (ac / (1 - ac)).clamp(max=5) / (ac / (1 - ac)))
        reg("post_var", betas * (1. - prev) / (1. - ac)); reg("c1", betas * prev.sqrt() / (1 - ac)); reg("c2", (1 - prev) * (1 - betas).sqrt() / (1 - ac))
    def q_sample(self, x, t, noise=None):
        noise = default(noise, lambda: torch.randn_like(x))
        return extract(self.sqrt_ac, t, x.shape) * x + extract(self.sqrt_1m, t, x.shape) * noise
    def forward(self, img):
        b, c, h, w, device = *img.shape, img.device
        t = torch.randint(0, self.T, (b,), device=device).long()
        x = img * 2 - 1; noise = torch.randn_like(x)
        loss = F.mse_loss(self.model(self.q_sample(x, t, noise), t), noise, reduction="none").flatten(1).mean(1)
        return (loss * extract(self.snr_w, t, loss.shape)).mean()
    @torch.inference_mode()
    def sample(self, shape):
        x = torch.randn(shape)
        for i in reversed(range(self.T)):
            t = torch.full((shape[0],), i, dtype=torch.long)
            eps = self.model(x, t)
            x0 = ((x - extract(self.sqrt_1m, t, x.shape) * eps) / extract(self.sqrt_ac, t, x.shape)).clamp(-1, 1)
            x = extract(self.c1, t, x.shape) * x0 + extract(self.c2, t, x.shape) * x + (extract(self.post_var, t, x.shape).sqrt() * torch.randn_like(x) if i else 0.)
        return (x + 1) * 0.5
diff = Diffusion(Unet()); ema = copy.deepcopy(diff).eval().requires_grad_(False)
step = torch.compile(diff)
opt = torch.optim.Adam(diff.parameters(), 1e-3, betas=(0.9, 0.99))
for i in range(3):
    loss = step(torch.rand(4, 1, 8, 8)); loss.backward()
    torch.nn.utils.clip_grad_norm_(diff.parameters(), 1.0); opt.step(); opt.zero_grad()
    for p, e in zip(diff.parameters(), ema.parameters()): e.lerp_(p.detach(), 0.1)
    print(i, f"{loss.item():.4f}")
print(ema.sample((1, 1, 8, 8)).mean().item() > -1, sum(p.numel() for p in diff.parameters()))
