"""Vision without convolutions or with little attention: MLP-Mixer, gMLP, Perceiver, and MAE's random masking."""
from functools import partial

import torch
from torch import nn, einsum
import torch.nn.functional as F

torch.manual_seed(2)
pair = lambda x: x if isinstance(x, tuple) else (x, x)


class PreNormResidual(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.fn(self.norm(x)) + x


def FeedForward(dim, expansion_factor=4, dropout=0., dense=nn.Linear):
    inner_dim = int(dim * expansion_factor)
    return nn.Sequential(dense(dim, inner_dim), nn.GELU(), nn.Dropout(dropout), dense(inner_dim, dim), nn.Dropout(dropout))


class Patches(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        b, c, h, w = x.shape
        p = self.p
        return x.view(b, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1).reshape(b, (h // p) * (w // p), p * p * c)


class Mean(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.mean(self.dim)


def MLPMixer(*, image_size, channels, patch_size, dim, depth, num_classes, expansion_factor=4, expansion_factor_token=0.5, dropout=0.):
    image_h, image_w = pair(image_size)
    assert (image_h % patch_size) == 0 and (image_w % patch_size) == 0, "image must be divisible by patch size"
    num_patches = (image_h // patch_size) * (image_w // patch_size)
    chan_first, chan_last = partial(nn.Conv1d, kernel_size=1), nn.Linear
    return nn.Sequential(
        Patches(patch_size),
        nn.Linear((patch_size ** 2) * channels, dim),
        *[nn.Sequential(
            PreNormResidual(dim, FeedForward(num_patches, expansion_factor, dropout, chan_first)),
            PreNormResidual(dim, FeedForward(dim, expansion_factor_token, dropout, chan_last)),
        ) for _ in range(depth)],
        nn.LayerNorm(dim),
        Mean(1),
        nn.Linear(dim, num_classes),
    )


class SpatialGatingUnit(nn.Module):
    def __init__(self, d_ffn, seq_len):
        super().__init__()
        self.norm = nn.LayerNorm(d_ffn)
        self.spatial_proj = nn.Conv1d(seq_len, seq_len, kernel_size=1)
        nn.init.constant_(self.spatial_proj.bias, 1.0)

    def forward(self, x):
        u, v = x.chunk(2, dim=-1)
        v = self.norm(v)
        v = self.spatial_proj(v)
        return u * v


class gMLPBlock(nn.Module):
    def __init__(self, d_model, d_ffn, seq_len, survival=0.8):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.channel_proj1 = nn.Linear(d_model, d_ffn * 2)
        self.channel_proj2 = nn.Linear(d_ffn, d_model)
        self.sgu = SpatialGatingUnit(d_ffn, seq_len)
        self.survival = survival

    def forward(self, x):
        residual = x
        x = F.gelu(self.channel_proj1(self.norm(x)))
        x = self.channel_proj2(self.sgu(x))
        if self.training:
            keep = torch.rand(x.shape[0], 1, 1, device=x.device).lt(self.survival).to(x.dtype)
            x = x * keep / self.survival
        return x + residual


class Attention(nn.Module):
    def __init__(self, query_dim, context_dim=None, heads=2, dim_head=8):
        super().__init__()
        inner_dim = dim_head * heads
        context_dim = query_dim if context_dim is None else context_dim
        self.scale = dim_head ** -0.5
        self.heads = heads
        self.to_q = nn.Linear(query_dim, inner_dim, bias=False)
        self.to_kv = nn.Linear(context_dim, inner_dim * 2, bias=False)
        self.to_out = nn.Linear(inner_dim, query_dim)

    def forward(self, x, context=None, mask=None):
        h = self.heads
        q = self.to_q(x)
        context = x if context is None else context
        k, v = self.to_kv(context).chunk(2, dim=-1)
        q, k, v = map(lambda t: t.reshape(t.shape[0], t.shape[1], h, -1).transpose(1, 2).flatten(0, 1), (q, k, v))
        sim = einsum("b i d, b j d -> b i j", q, k) * self.scale
        if mask is not None:
            max_neg_value = -torch.finfo(sim.dtype).max
            mask = mask[:, None, None].expand(-1, h, -1, -1).flatten(0, 1)
            sim.masked_fill_(~mask, max_neg_value)
        attn = sim.softmax(dim=-1)
        out = einsum("b i j, b j d -> b i d", attn, v)
        out = out.unflatten(0, (-1, h)).transpose(1, 2).flatten(-2)
        return self.to_out(out)


class GEGLU(nn.Module):
    def forward(self, x):
        x, gates = x.chunk(2, dim=-1)
        return x * F.gelu(gates)


def fourier_encode(x, max_freq, num_bands=4):
    x = x.unsqueeze(-1)
    device, dtype, orig_x = x.device, x.dtype, x
    scales = torch.linspace(1., max_freq / 2, num_bands, device=device, dtype=dtype)
    scales = scales[(*((None,) * (len(x.shape) - 1)), Ellipsis)]
    x = x * scales * torch.pi
    x = torch.cat([x.sin(), x.cos()], dim=-1)
    return torch.cat((x, orig_x), dim=-1)


class Perceiver(nn.Module):
    def __init__(self, num_latents=4, latent_dim=16, depth=2, channels=3, num_bands=3, weight_tie=True):
        super().__init__()
        input_dim = 2 * (2 * num_bands + 1) + channels
        self.num_bands = num_bands
        self.latents = nn.Parameter(torch.randn(num_latents, latent_dim))
        cross = Attention(latent_dim, input_dim, heads=1)
        self.layers = nn.ModuleList([])
        for i in range(depth):
            ff = nn.Sequential(nn.Linear(latent_dim, latent_dim * 4), GEGLU(), nn.Linear(latent_dim * 2, latent_dim))
            self.layers.append(nn.ModuleList([cross if weight_tie else Attention(latent_dim, input_dim, heads=1), Attention(latent_dim), ff]))
        self.norm = nn.LayerNorm(latent_dim)

    def forward(self, data, mask=None):
        b, *axis, _ = data.shape
        axis_pos = list(map(lambda size: torch.linspace(-1., 1., steps=size), axis))
        pos = torch.stack(torch.meshgrid(*axis_pos, indexing="ij"), dim=-1)
        enc = fourier_encode(pos, 10.0, self.num_bands).flatten(-2)
        data = torch.cat((data, enc[None].expand(b, *enc.shape)), dim=-1).flatten(1, -2)
        x = self.latents[None].repeat(b, 1, 1)
        for cross_attn, self_attn, ff in self.layers:
            x = cross_attn(x, context=data, mask=mask) + x
            x = self_attn(x) + x
            x = ff(x) + x
        return self.norm(x.mean(1))


def random_masking(x, mask_ratio):
    N, L, D = x.shape
    len_keep = int(L * (1 - mask_ratio))
    noise = torch.rand(N, L, device=x.device)
    ids_shuffle = torch.argsort(noise, dim=1)
    ids_restore = torch.argsort(ids_shuffle, dim=1)
    ids_keep = ids_shuffle[:, :len_keep]
    x_masked = torch.gather(x, dim=1, index=ids_keep.unsqueeze(-1).repeat(1, 1, D))
    mask = torch.ones([N, L], device=x.device)
    mask[:, :len_keep] = 0
    mask = torch.gather(mask, dim=1, index=ids_restore)
    return x_masked, mask, ids_restore


class MAE(nn.Module):
    def __init__(self, dim=16, patch=4, size=8):
        super().__init__()
        self.patchify = Patches(patch)
        self.embed = nn.Linear(patch * patch * 3, dim)
        n = (size // patch) ** 2
        self.pos_embed = nn.Parameter(torch.zeros(1, n, dim), requires_grad=False)
        self.pos_embed.data.copy_(torch.sin(torch.arange(n * dim).view(1, n, dim) / 10))
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.pred = nn.Linear(dim, patch * patch * 3)

    def forward(self, imgs, mask_ratio=0.5):
        target = self.patchify(imgs)
        x = self.embed(target) + self.pos_embed
        x, mask, ids_restore = random_masking(x, mask_ratio)
        x = self.block(x)
        mask_tokens = self.mask_token.repeat(x.shape[0], ids_restore.shape[1] - x.shape[1], 1)
        x_ = torch.cat([x, mask_tokens], dim=1)
        x_ = torch.gather(x_, dim=1, index=ids_restore.unsqueeze(-1).repeat(1, 1, x.shape[2]))
        pred = self.pred(x_ + self.pos_embed)
        loss = ((pred - target) ** 2).mean(dim=-1)
        return (loss * mask).sum() / mask.sum(), mask


imgs, y = torch.randn(2, 3, 8, 8), torch.tensor([0, 2])
mixer = MLPMixer(image_size=8, channels=3, patch_size=4, dim=16, depth=1, num_classes=3)
gmlp = nn.Sequential(Patches(4), nn.Linear(48, 16), gMLPBlock(16, 16, 4), gMLPBlock(16, 16, 4), Mean(1), nn.Linear(16, 3))
perceiver = nn.Sequential(Perceiver(), nn.Linear(16, 3))
print(mixer)
for name, model, data in [("mixer", mixer, imgs), ("gmlp", gmlp, imgs), ("perceiver", perceiver, imgs.permute(0, 2, 3, 1))]:
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    fn = torch.compile(model)
    for step in range(2):
        loss = F.cross_entropy(fn(data), y, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{name} {step} {loss.item():.4f}")
mae = MAE()
loss, mask = torch.compile(mae)(imgs)
loss.backward()
print(f"mae {loss.item():.4f}", mask.tolist(), f"{mae.mask_token.grad.norm():.4f}", mae.pos_embed.grad)
masked = Attention(6)(torch.ones(1, 3, 6), mask=torch.tensor([[True, True, False]]))
print(masked.shape)
