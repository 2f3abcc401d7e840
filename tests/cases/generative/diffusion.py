import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def linear_beta_schedule(timesteps):
    return torch.linspace(0.0001, 0.02, timesteps)


def cosine_beta_schedule(timesteps, s=0.008):
    steps = timesteps + 1
    x = torch.linspace(0, timesteps, steps)
    alphas_cumprod = torch.cos(((x / timesteps) + s) / (1 + s) * torch.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    betas = 1 - (alphas_cumprod[1:] / alphas_cumprod[:-1])
    return torch.clip(betas, 0.0001, 0.9999)


def extract(a, t, x_shape):
    batch_size = t.shape[0]
    out = a.gather(-1, t.cpu())
    return out.reshape(batch_size, *((1,) * (len(x_shape) - 1))).to(t.device)


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        device = time.device
        half_dim = self.dim // 2
        embeddings = math.log(10000) / (half_dim - 1)
        embeddings = torch.exp(torch.arange(half_dim, device=device) * -embeddings)
        embeddings = time[:, None] * embeddings[None, :]
        return torch.cat((embeddings.sin(), embeddings.cos()), dim=-1)


class Block(nn.Module):
    def __init__(self, dim, dim_out, groups=2):
        super().__init__()
        self.proj = nn.Conv2d(dim, dim_out, 3, padding=1)
        self.norm = nn.GroupNorm(groups, dim_out)
        self.act = nn.SiLU()

    def forward(self, x, scale_shift=None):
        x = self.norm(self.proj(x))
        if scale_shift is not None:
            scale, shift = scale_shift
            x = x * (scale + 1) + shift
        return self.act(x)


class ResnetBlock(nn.Module):
    def __init__(self, dim, dim_out, *, time_emb_dim=None):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_emb_dim, dim_out * 2))
        self.block1 = Block(dim, dim_out)
        self.block2 = Block(dim_out, dim_out)
        self.res_conv = nn.Conv2d(dim, dim_out, 1) if dim != dim_out else nn.Identity()

    def forward(self, x, time_emb):
        time_emb = self.mlp(time_emb)[:, :, None, None]
        h = self.block1(x, scale_shift=time_emb.chunk(2, dim=1))
        h = self.block2(h)
        return h + self.res_conv(x)


class Denoiser(nn.Module):
    def __init__(self, ch=8, tdim=16):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPositionEmbeddings(ch), nn.Linear(ch, tdim), nn.GELU(), nn.Linear(tdim, tdim))
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.r1 = ResnetBlock(ch, ch, time_emb_dim=tdim)
        self.down = nn.Conv2d(ch, ch * 2, 4, 2, 1)
        self.r2 = ResnetBlock(ch * 2, ch * 2, time_emb_dim=tdim)
        self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(ch * 2, ch, 3, padding=1))
        self.out = nn.Conv2d(ch * 2, 1, 1)

    def forward(self, x, t):
        emb = self.time_mlp(t)
        x = self.inp(x)
        h = self.r1(x, emb)
        m = self.r2(self.down(h), emb)
        return self.out(torch.cat([self.up(m), h], dim=1))


timesteps = 20
betas = cosine_beta_schedule(timesteps)
alphas = 1. - betas
alphas_cumprod = torch.cumprod(alphas, axis=0)
alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
sqrt_recip_alphas = torch.sqrt(1.0 / alphas)
sqrt_alphas_cumprod = torch.sqrt(alphas_cumprod)
sqrt_one_minus_alphas_cumprod = torch.sqrt(1. - alphas_cumprod)
posterior_variance = betas * (1. - alphas_cumprod_prev) / (1. - alphas_cumprod)


def q_sample(x_start, t, noise=None):
    if noise is None:
        noise = torch.randn_like(x_start)
    return extract(sqrt_alphas_cumprod, t, x_start.shape) * x_start + extract(sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise


@torch.no_grad()
def p_sample(model, x, t, t_index):
    betas_t = extract(betas, t, x.shape)
    mean = extract(sqrt_recip_alphas, t, x.shape) * (x - betas_t * model(x, t) / extract(sqrt_one_minus_alphas_cumprod, t, x.shape))
    if t_index == 0:
        return mean
    return mean + torch.sqrt(extract(posterior_variance, t, x.shape)) * torch.randn_like(x)


torch.manual_seed(0)
net = Denoiser()
model = torch.compile(net)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
data = torch.randn(4, 1, 8, 8).clamp(-1, 1)
for step in range(3):
    opt.zero_grad()
    t = torch.randint(0, timesteps, (4,)).long()
    noise = torch.randn_like(data)
    loss = F.smooth_l1_loss(noise, model(q_sample(data, t, noise), t))
    loss.backward()
    opt.step()
    print("step", step, "t", t.tolist(), f"loss {loss.item():.5f}")
img = torch.randn(1, 1, 8, 8)
for i in reversed(range(17, timesteps)):
    img = p_sample(net, img, torch.full((1,), i, dtype=torch.long), i)
print(img.shape, f"{img.mean():.4f}")
