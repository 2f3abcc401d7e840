"""Attention variants with einsum: linear attention, ALiBi, local windows, cross attention, Hopfield, rotary (real)."""
import math
import torch
from torch import einsum, nn
import torch.nn.functional as F


def exists(val):
    return val is not None


def default(val, d):
    return val if exists(val) else d


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = fn

    def forward(self, x, **kwargs):
        return self.fn(self.norm(x), **kwargs)


class GEGLU(nn.Module):
    def forward(self, x):
        x, gates = x.chunk(2, dim=-1)
        return x * F.gelu(gates)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


class Rotary(nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        self.register_buffer("inv_freq", inv_freq, persistent=False)

    def forward(self, n):
        t = torch.arange(n, device=self.inv_freq.device).type_as(self.inv_freq)
        freqs = einsum("i,j->ij", t, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos(), emb.sin()


class Attention(nn.Module):
    def __init__(self, dim, heads=2, dim_head=4, context_dim=None, alibi=False, window=None):
        super().__init__()
        inner = heads * dim_head
        self.heads, self.scale, self.alibi, self.window = heads, dim_head**-0.5, alibi, window
        self.to_q = nn.Linear(dim, inner, bias=False)
        self.to_kv = nn.Linear(default(context_dim, dim), inner * 2, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner, dim), nn.Dropout(0.0))
        self.rotary = Rotary(dim_head)

    def forward(self, x, context=None, mask=None):
        b, n, _, h = *x.shape, self.heads
        is_self = context is None
        q = self.to_q(x)
        k, v = self.to_kv(default(context, x)).chunk(2, dim=-1)
        q, k, v = map(lambda t: t.reshape(b, t.shape[1], h, -1).permute(0, 2, 1, 3), (q, k, v))
        if is_self:
            cos, sin = self.rotary(n)
            q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        sim = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        if self.alibi:
            slopes = torch.tensor([2 ** (-8 * (i + 1) / h) for i in range(h)])
            dist = torch.arange(sim.shape[-1])[None, :] - torch.arange(n)[:, None]
            sim = sim - slopes[:, None, None] * dist.abs()
        if exists(self.window):
            i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
            sim = sim.masked_fill((i - j).abs() > self.window, -torch.finfo(sim.dtype).max)
        if exists(mask):
            sim.masked_fill_(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        out = einsum("b h i j, b h j d -> b h i d", attn, v)
        out = out.permute(0, 2, 1, 3).reshape(b, n, -1)
        return self.to_out(out)


def linear_attention(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    kv = einsum("bnd,bne->bde", k, v)
    z = 1 / (einsum("bnd,bd->bn", q, k.sum(dim=1)) + 1e-6)
    return einsum("bnd,bde,bn->bne", q, kv, z)


class HopfieldLayer(nn.Module):
    def __init__(self, dim, n_patterns, beta=2.0):
        super().__init__()
        self.patterns = nn.Parameter(torch.randn(n_patterns, dim))
        self.beta = beta

    def forward(self, state, steps=2):
        for _ in range(steps):
            state = F.softmax(self.beta * state @ self.patterns.T, dim=-1) @ self.patterns
        return state


class Perceiver(nn.Module):
    def __init__(self, dim=8, latents=3):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, dim) * 0.02)
        self.cross = PreNorm(dim, Attention(dim))
        self.self_attn = nn.ModuleList([PreNorm(dim, Attention(dim, alibi=True)), PreNorm(dim, Attention(dim, window=1))])
        self.ff = PreNorm(dim, nn.Sequential(nn.Linear(dim, dim * 8), GEGLU(), nn.Linear(dim * 4, dim)))
        self.head = nn.Linear(dim, 2)

    def forward(self, data, mask=None):
        x = self.latents.unsqueeze(0).expand(data.shape[0], -1, -1)
        x = self.cross(x, context=data, mask=mask) + x
        for attn in self.self_attn:
            x = attn(x) + x
        x = self.ff(x) + x
        return self.head(x.mean(dim=-2))


if __name__ == "__main__":
    torch.manual_seed(4)
    model = Perceiver()
    net = torch.compile(model)
    opt = torch.optim.Adamax(model.parameters(), lr=1e-2)
    data = torch.randn(2, 5, 8)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    for step in range(3):
        loss = F.binary_cross_entropy_with_logits(net(data, mask=mask), torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.5f}")
    lin = torch.compile(linear_attention)
    q, k, v = (torch.randn(2, 4, 3, requires_grad=True) for _ in range(3))
    lin(q, k, v).pow(2).sum().backward()
    print("linear attention", [f"{t.grad.norm():.4f}" for t in (q, k, v)])
    hop = HopfieldLayer(6, 4)
    hop_c = torch.compile(hop)
    noisy = hop.patterns.detach()[1:2] + 0.1 * torch.randn(1, 6)
    print("hopfield", torch.cdist(hop_c(noisy), hop.patterns).argmin().item())
    A, B, C = torch.randn(2, 3, 4), torch.randn(2, 4, 5), torch.randn(5, 3)
    print(torch.einsum("bij,bjk,ki->b", A, B, C), torch.einsum("bii->bi", torch.arange(8.0).view(2, 2, 2)))
    print(torch.einsum("...ij->...ji", A).shape, torch.tensordot(A, B, dims=([2], [1])).shape)
