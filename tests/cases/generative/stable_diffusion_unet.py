"""A latent diffusion U-Net: time embedding, ResnetBlock2D, spatial transformer with cross attention, CFG sampling (DDIM)."""
import math
from dataclasses import dataclass
from typing import Optional, Tuple, Union
import torch
import torch.nn.functional as F
from torch import nn


def get_timestep_embedding(timesteps, embedding_dim, flip_sin_to_cos=True, downscale_freq_shift=0.0, max_period=10000):
    assert len(timesteps.shape) == 1, "Timesteps should be a 1d-array"
    half_dim = embedding_dim // 2
    exponent = -math.log(max_period) * torch.arange(start=0, end=half_dim, dtype=torch.float32, device=timesteps.device)
    exponent = exponent / (half_dim - downscale_freq_shift)
    emb = torch.exp(exponent)
    emb = timesteps[:, None].float() * emb[None, :]
    emb = torch.cat([torch.sin(emb), torch.cos(emb)], dim=-1)
    if flip_sin_to_cos:
        emb = torch.cat([emb[:, half_dim:], emb[:, :half_dim]], dim=-1)
    if embedding_dim % 2 == 1:
        emb = torch.nn.functional.pad(emb, (0, 1, 0, 0))
    return emb


class ResnetBlock2D(nn.Module):
    def __init__(self, *, in_channels, out_channels=None, temb_channels=32, groups=4, eps=1e-6):
        super().__init__()
        out_channels = in_channels if out_channels is None else out_channels
        self.norm1 = nn.GroupNorm(num_groups=groups, num_channels=in_channels, eps=eps, affine=True)
        self.conv1 = nn.Conv2d(in_channels, out_channels, kernel_size=3, stride=1, padding=1)
        self.time_emb_proj = nn.Linear(temb_channels, out_channels)
        self.norm2 = nn.GroupNorm(num_groups=groups, num_channels=out_channels, eps=eps, affine=True)
        self.dropout = nn.Dropout(0.0)
        self.conv2 = nn.Conv2d(out_channels, out_channels, kernel_size=3, stride=1, padding=1)
        self.nonlinearity = nn.SiLU()
        self.conv_shortcut = nn.Conv2d(in_channels, out_channels, 1) if in_channels != out_channels else None

    def forward(self, input_tensor, temb):
        hidden_states = self.conv1(self.nonlinearity(self.norm1(input_tensor)))
        temb = self.time_emb_proj(self.nonlinearity(temb))[:, :, None, None]
        hidden_states = self.nonlinearity(self.norm2(hidden_states + temb))
        hidden_states = self.conv2(self.dropout(hidden_states))
        if self.conv_shortcut is not None:
            input_tensor = self.conv_shortcut(input_tensor)
        return (input_tensor + hidden_states) / 1.0


class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim=None, heads=2, dim_head=4):
        super().__init__()
        inner_dim = dim_head * heads
        context_dim = context_dim if context_dim is not None else query_dim
        self.scale, self.heads = dim_head ** -0.5, heads
        self.to_q = nn.Linear(query_dim, inner_dim, bias=False)
        self.to_k = nn.Linear(context_dim, inner_dim, bias=False)
        self.to_v = nn.Linear(context_dim, inner_dim, bias=False)
        self.to_out = nn.ModuleList([nn.Linear(inner_dim, query_dim), nn.Dropout(0.0)])

    def reshape_heads_to_batch_dim(self, tensor):
        b, s, d = tensor.shape
        return tensor.reshape(b, s, self.heads, d // self.heads).permute(0, 2, 1, 3).reshape(b * self.heads, s, d // self.heads)

    def reshape_batch_dim_to_heads(self, tensor):
        b, s, d = tensor.shape
        return tensor.reshape(b // self.heads, self.heads, s, d).permute(0, 2, 1, 3).reshape(b // self.heads, s, d * self.heads)

    def forward(self, hidden_states, context=None):
        q = self.to_q(hidden_states)
        context = context if context is not None else hidden_states
        k, v = self.to_k(context), self.to_v(context)
        q, k, v = map(self.reshape_heads_to_batch_dim, (q, k, v))
        scores = torch.baddbmm(torch.empty(q.shape[0], q.shape[1], k.shape[1], dtype=q.dtype, device=q.device), q, k.transpose(-1, -2), beta=0, alpha=self.scale)
        probs = scores.softmax(dim=-1)
        hidden_states = self.reshape_batch_dim_to_heads(torch.bmm(probs, v))
        for m in self.to_out:
            hidden_states = m(hidden_states)
        return hidden_states


class GEGLU(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.proj = nn.Linear(dim_in, dim_out * 2)

    def forward(self, x):
        x, gate = self.proj(x).chunk(2, dim=-1)
        return x * F.gelu(gate)


class BasicTransformerBlock(nn.Module):
    def __init__(self, dim, context_dim):
        super().__init__()
        self.attn1, self.attn2 = CrossAttention(dim), CrossAttention(dim, context_dim)
        self.ff = nn.Sequential(GEGLU(dim, dim * 2), nn.Linear(dim * 2, dim))
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, context):
        x = self.attn1(self.norm1(x)) + x
        x = self.attn2(self.norm2(x), context=context) + x
        return self.ff(self.norm3(x)) + x


class SpatialTransformer(nn.Module):
    def __init__(self, c, context_dim):
        super().__init__()
        self.norm = nn.GroupNorm(4, c, eps=1e-6)
        self.proj_in, self.proj_out = nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
        self.blocks = nn.ModuleList([BasicTransformerBlock(c, context_dim)])

    def forward(self, x, context):
        batch, channel, height, width = x.shape
        residual = x
        x = self.proj_in(self.norm(x))
        x = x.permute(0, 2, 3, 1).reshape(batch, height * width, channel)
        for b in self.blocks:
            x = b(x, context)
        x = x.reshape(batch, height, width, channel).permute(0, 3, 1, 2)
        return self.proj_out(x) + residual


@dataclass
class UNetOutput:
    sample: torch.Tensor


class UNet2DConditionModel(nn.Module):
    def __init__(self, in_ch=4, c=8, ctx=6):
        super().__init__()
        self.conv_in = nn.Conv2d(in_ch, c, 3, padding=1)
        self.c = c
        self.time_embedding = nn.Sequential(nn.Linear(c, 32), nn.SiLU(), nn.Linear(32, 32))
        self.down = nn.ModuleList([nn.ModuleDict({"res": ResnetBlock2D(in_channels=c), "attn": SpatialTransformer(c, ctx), "down": nn.Conv2d(c, c, 3, 2, 1)}),
                                   nn.ModuleDict({"res": ResnetBlock2D(in_channels=c, out_channels=2 * c), "attn": SpatialTransformer(2 * c, ctx)})])
        self.mid = ResnetBlock2D(in_channels=2 * c)
        self.up = nn.ModuleList([ResnetBlock2D(in_channels=4 * c, out_channels=c), ResnetBlock2D(in_channels=2 * c, out_channels=c)])
        self.norm_out, self.conv_out = nn.GroupNorm(4, c), nn.Conv2d(c, in_ch, 3, padding=1)

    def forward(self, sample, timestep: Union[torch.Tensor, float, int], encoder_hidden_states, return_dict: bool = True):
        timesteps = timestep
        if not torch.is_tensor(timesteps):
            timesteps = torch.tensor([timesteps], dtype=torch.long, device=sample.device)
        elif torch.is_tensor(timesteps) and len(timesteps.shape) == 0:
            timesteps = timesteps[None].to(sample.device)
        timesteps = timesteps.expand(sample.shape[0])
        emb = self.time_embedding(get_timestep_embedding(timesteps, self.c).to(sample.dtype))
        x = self.conv_in(sample)
        skips = []
        for d in self.down:
            x = d["attn"](d["res"](x, emb), encoder_hidden_states)
            skips.append(x)
            if "down" in d:
                x = d["down"](x)
        x = self.mid(x, emb)
        x = self.up[0](torch.cat([x, skips.pop()], dim=1), emb)
        x = F.interpolate(x, scale_factor=2.0, mode="nearest")
        x = self.up[1](torch.cat([x, skips.pop()], dim=1), emb)
        x = self.conv_out(F.silu(self.norm_out(x)))
        if not return_dict:
            return (x,)
        return UNetOutput(sample=x)


torch.manual_seed(0)
T = 50
betas = torch.linspace(0.00085 ** 0.5, 0.012 ** 0.5, T) ** 2
acp = torch.cumprod(1 - betas, 0)
unet = UNet2DConditionModel()
cu = torch.compile(unet)
opt = torch.optim.AdamW(unet.parameters(), lr=1e-3)
lat, ctx = torch.randn(2, 4, 8, 8), torch.randn(2, 3, 6)
for step in range(3):
    noise = torch.randn_like(lat)
    t = torch.randint(0, T, (2,)).long()
    a = acp[t].view(-1, 1, 1, 1)
    noisy = a.sqrt() * lat + (1 - a).sqrt() * noise
    c = torch.where(torch.rand(2, 1, 1) < 0.1, torch.zeros_like(ctx), ctx)
    pred = cu(noisy, t, c).sample
    snr = acp[t] / (1 - acp[t])
    w = torch.stack([snr, 5.0 * torch.ones_like(t)], dim=1).min(dim=1)[0] / snr
    loss = (F.mse_loss(pred.float(), noise.float(), reduction="none").mean(dim=list(range(1, 4))) * w).mean()
    opt.zero_grad(); loss.backward()
    torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
    opt.step()
    print(step, f"{loss.item():.6f}")
unet.eval()
with torch.no_grad():
    x = torch.randn(1, 4, 8, 8)
    emb = torch.cat([torch.zeros(1, 3, 6), ctx[:1]])
    steps = list(range(0, T, 17))[::-1]
    for i, t in enumerate(steps):
        e_u, e_c = cu(torch.cat([x] * 2), t, emb, return_dict=False)[0].chunk(2)
        eps = e_u + 7.5 * (e_c - e_u)
        a_t = acp[t]
        a_p = acp[steps[i + 1]] if i + 1 < len(steps) else torch.tensor(1.0)
        x0 = (x - (1 - a_t).sqrt() * eps) / a_t.sqrt()
        x = a_p.sqrt() * x0 + (1 - a_p).sqrt() * eps
        print(t, f"{x.mean():.4f} {x.std():.4f}")
