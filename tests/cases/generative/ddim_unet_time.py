# A small diffusion model: U-Net with sinusoidal time embedding, residual blocks and attention; DDPM training, DDIM sampling, EMA.
import copy
import math
from functools import partial

import torch
from torch import nn, einsum
import torch.nn.functional as F
from tqdm.auto import tqdm


def exists(x):
    return x is not None


def default(val, d):
    if exists(val):
        return val
    return d() if callable(d) else d


class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, *args, **kwargs):
        return self.fn(x, *args, **kwargs) + x


def Upsample(dim, dim_out=None):
    return nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(dim, default(dim_out, dim), 3, padding=1))


class Downsample(nn.Module):
    def __init__(self, dim, dim_out=None):
        super().__init__()
        self.unshuffle = nn.PixelUnshuffle(2)
        self.conv = nn.Conv2d(dim * 4, default(dim_out, dim), 1)

    def forward(self, x):
        return self.conv(self.unshuffle(x))


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


class WeightStandardizedConv2d(nn.Conv2d):
    def forward(self, x):
        eps = 1e-5 if x.dtype == torch.float32 else 1e-3
        weight = self.weight
        mean = weight.mean(dim=(1, 2, 3), keepdim=True)
        var = weight.var(dim=(1, 2, 3), keepdim=True, unbiased=False)
        normalized = (weight - mean) * (var + eps).rsqrt()
        return F.conv2d(x, normalized, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Block(nn.Module):
    def __init__(self, dim, dim_out, groups=4):
        super().__init__()
        self.proj = WeightStandardizedConv2d(dim, dim_out, 3, padding=1)
        self.norm = nn.GroupNorm(groups, dim_out)
        self.act = nn.SiLU()

    def forward(self, x, scale_shift=None):
        x = self.norm(self.proj(x))
        if exists(scale_shift):
            scale, shift = scale_shift
            x = x * (scale + 1) + shift
        return self.act(x)


class ResnetBlock(nn.Module):
    def __init__(self, dim, dim_out, *, time_emb_dim=None, groups=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_emb_dim, dim_out * 2)) if exists(time_emb_dim) else None
        self.block1 = Block(dim, dim_out, groups=groups)
        self.block2 = Block(dim_out, dim_out, groups=groups)
        self.res_conv = nn.Conv2d(dim, dim_out, 1) if dim != dim_out else nn.Identity()

    def forward(self, x, time_emb=None):
        scale_shift = None
        if exists(self.mlp) and exists(time_emb):
            time_emb = self.mlp(time_emb)[:, :, None, None]
            scale_shift = time_emb.chunk(2, dim=1)
        h = self.block1(x, scale_shift=scale_shift)
        h = self.block2(h)
        return h + self.res_conv(x)


class LinearAttention(nn.Module):
    def __init__(self, dim, heads=2, dim_head=8):
        super().__init__()
        self.scale = dim_head**-0.5
        self.heads = heads
        hidden_dim = dim_head * heads
        self.to_qkv = nn.Conv2d(dim, hidden_dim * 3, 1, bias=False)
        self.to_out = nn.Sequential(nn.Conv2d(hidden_dim, dim, 1), nn.GroupNorm(1, dim))

    def forward(self, x):
        b, c, h, w = x.shape
        qkv = self.to_qkv(x).chunk(3, dim=1)
        q, k, v = map(lambda t: t.reshape(b, self.heads, -1, h * w), qkv)
        q = q.softmax(dim=-2) * self.scale
        k = k.softmax(dim=-1)
        context = torch.einsum("b h d n, b h e n -> b h d e", k, v)
        out = torch.einsum("b h d e, b h d n -> b h e n", context, q)
        return self.to_out(out.reshape(b, -1, h, w))


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = nn.GroupNorm(1, dim)

    def forward(self, x):
        return self.fn(self.norm(x))


class Unet(nn.Module):
    def __init__(self, dim=8, dim_mults=(1, 2), channels=1):
        super().__init__()
        self.init_conv = nn.Conv2d(channels, dim, 1)
        dims = [dim, *map(lambda m: dim * m, dim_mults)]
        in_out = list(zip(dims[:-1], dims[1:]))
        block_klass = partial(ResnetBlock, groups=4)
        time_dim = dim * 4
        self.time_mlp = nn.Sequential(SinusoidalPositionEmbeddings(dim), nn.Linear(dim, time_dim), nn.GELU(), nn.Linear(time_dim, time_dim))
        self.downs, self.ups = nn.ModuleList([]), nn.ModuleList([])
        num_resolutions = len(in_out)
        for ind, (dim_in, dim_out) in enumerate(in_out):
            is_last = ind >= (num_resolutions - 1)
            self.downs.append(nn.ModuleList([block_klass(dim_in, dim_in, time_emb_dim=time_dim), Residual(PreNorm(dim_in, LinearAttention(dim_in))), Downsample(dim_in, dim_out) if not is_last else nn.Conv2d(dim_in, dim_out, 3, padding=1)]))
        mid_dim = dims[-1]
        self.mid_block1 = block_klass(mid_dim, mid_dim, time_emb_dim=time_dim)
        for ind, (dim_in, dim_out) in enumerate(reversed(in_out)):
            is_last = ind == (len(in_out) - 1)
            self.ups.append(nn.ModuleList([block_klass(dim_out + dim_in, dim_out, time_emb_dim=time_dim), Upsample(dim_out, dim_in) if not is_last else nn.Conv2d(dim_out, dim_in, 3, padding=1)]))
        self.final_res_block = block_klass(dim * 2, dim, time_emb_dim=time_dim)
        self.final_conv = nn.Conv2d(dim, channels, 1)

    def forward(self, x, time):
        x = self.init_conv(x)
        r = x.clone()
        t = self.time_mlp(time)
        h = []
        for block1, attn, downsample in self.downs:
            x = attn(block1(x, t))
            h.append(x)
            x = downsample(x)
        x = self.mid_block1(x, t)
        for block1, upsample in self.ups:
            x = torch.cat((x, h.pop()), dim=1)
            x = upsample(block1(x, t))
        x = self.final_res_block(torch.cat((x, r), dim=1), t)
        return self.final_conv(x)


def cosine_beta_schedule(timesteps, s=0.008):
    x = torch.linspace(0, timesteps, timesteps + 1)
    alphas_cumprod = torch.cos(((x / timesteps) + s) / (1 + s) * torch.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    return torch.clip(1 - (alphas_cumprod[1:] / alphas_cumprod[:-1]), 0.0001, 0.9999)


timesteps = 20
betas = cosine_beta_schedule(timesteps)
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, axis=0)
alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
sqrt_recip_alphas = torch.sqrt(1.0 / alphas)
posterior_variance = betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)


def extract(a, t, x_shape):
    batch_size = t.shape[0]
    out = a.gather(-1, t.cpu())
    return out.reshape(batch_size, *((1,) * (len(x_shape) - 1))).to(t.device)


def q_sample(x_start, t, noise=None):
    if noise is None:
        noise = torch.randn_like(x_start)
    return extract(alphas_cumprod.sqrt(), t, x_start.shape) * x_start + extract((1 - alphas_cumprod).sqrt(), t, x_start.shape) * noise


def p_losses(denoise_model, x_start, t, noise=None, loss_type="huber"):
    noise = default(noise, lambda: torch.randn_like(x_start))
    predicted = denoise_model(q_sample(x_start, t, noise), t)
    if loss_type == "l1":
        return F.l1_loss(noise, predicted)
    elif loss_type == "huber":
        return F.smooth_l1_loss(noise, predicted)
    raise NotImplementedError()


torch.manual_seed(0)
model = Unet()
ema = copy.deepcopy(model).requires_grad_(False)
net = torch.compile(model, backend="aot_eager_default_partitioner")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
images = torch.rand(4, 1, 8, 8) * 2 - 1
for step in tqdm(range(4), disable=True):
    optimizer.zero_grad()
    t = torch.randint(0, timesteps, (4,)).long()
    loss = p_losses(net, images, t, loss_type="l1" if step % 2 else "huber")
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), model.parameters()):
            a.lerp_(b, 0.1)
    print("Loss:", f"{loss.item():.5f}")


@torch.no_grad()
def ddim(model, shape, steps=5, eta=0.0):
    x = torch.randn(shape)
    times = list(reversed(torch.linspace(-1, timesteps - 1, steps=steps + 1).int().tolist()))
    for time, time_next in zip(times[:-1], times[1:]):
        eps = model(x, torch.full((shape[0],), time, dtype=torch.long))
        a = alphas_cumprod[time]
        x0 = ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp_(-1.0, 1.0)
        if time_next < 0:
            x = x0
            continue
        an = alphas_cumprod[time_next]
        sigma = eta * ((1 - a / an) * (1 - an) / (1 - a)).sqrt()
        x = x0 * an.sqrt() + (1 - an - sigma**2).sqrt() * eps + sigma * torch.randn_like(x)
    return x


ema.eval()
sample = ddim(ema, (2, 1, 8, 8))
print(sample.shape, f"{sample.mean().item():.4f} {sample.std().item():.4f}")
sample = ddim(net, (4, 1, 8, 8), eta=0.5)
print(f"{sample.mean().item():.4f} {sample.std().item():.4f}")
