"""Attention variants: flash-style tiling, ALiBi, Longformer windows, Linformer, Performer features, LSH hashing, local-global."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def naive(q, k, v, causal=True):
    s = q @ k.mT * q.size(-1) ** -0.5
    if causal:
        s = s.masked_fill(~torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).tril(), -math.inf)
    return s.softmax(-1) @ v


def flash(q, k, v, Br=4, Bc=4, causal=True):
    N, d = q.shape[-2:]
    O = torch.zeros_like(q)
    L = q.new_zeros(q.shape[:-1])
    for i in range(0, N, Br):
        qi = q[..., i : i + Br, :] / d**0.5
        m = q.new_full(qi.shape[:-1], -float("inf"))
        l = torch.zeros_like(m)
        o = torch.zeros_like(qi)
        for j in range(0, N, Bc):
            if causal and j > i + Br - 1:
                break
            s = torch.einsum("...id,...jd->...ij", qi, k[..., j : j + Bc, :])
            if causal:
                rows = torch.arange(i, min(i + Br, N)).unsqueeze(1)
                cols = torch.arange(j, min(j + Bc, N)).unsqueeze(0)
                s = torch.where(rows >= cols, s, torch.finfo(s.dtype).min)
            m_new = torch.maximum(m, s.amax(-1))
            p = torch.exp(s - m_new[..., None])
            alpha = torch.exp(m - m_new)
            l = alpha * l + p.sum(-1)
            o = alpha.unsqueeze(-1) * o + p @ v[..., j : j + Bc, :]
            m = m_new
        O[..., i : i + Br, :] = o / l[..., None]
        L[..., i : i + Br] = m + l.log()
    return O, L


def get_slopes(n):
    def get_slopes_power_of_2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        ratio = start
        return [start * ratio**i for i in range(n)]

    if math.log2(n).is_integer():
        return get_slopes_power_of_2(n)
    closest = 2 ** math.floor(math.log2(n))
    return get_slopes_power_of_2(closest) + get_slopes(2 * closest)[0::2][: n - closest]


class ALiBi(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.register_buffer("slopes", torch.tensor(get_slopes(heads)).view(1, heads, 1, 1))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        pos = torch.arange(T)
        bias = -(pos[:, None] - pos[None, :]).abs() * self.slopes
        bias = bias + torch.full((T, T), float("-inf")).triu(1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2)


class SlidingChunks(nn.Module):
    def __init__(self, dim, w=3):
        super().__init__()
        self.w, self.to_qkv = w, nn.Linear(dim, dim * 3, bias=False)

    def look_around(self, x, pad=0.0):
        t = x.shape[1]
        x = F.pad(x, (0, 0, 0, 0, 1, 1), value=pad)
        return torch.cat([x[:, i : i + t] for i in range(3)], dim=2)

    def forward(self, x):
        b, n, d = x.shape
        pad = -n % self.w
        x = F.pad(x, (0, 0, 0, pad))
        q, k, v = (t.reshape(b, -1, self.w, d) for t in self.to_qkv(x).chunk(3, dim=-1))
        idx = torch.arange(n + pad).reshape(1, -1, self.w, 1)
        k, v, kidx = self.look_around(k), self.look_around(v), self.look_around(idx.float(), -1.0)
        sim = torch.einsum("bwid,bwjd->bwij", q, k) * d**-0.5
        dist = (idx.float() - kidx.transpose(-1, -2)).abs()
        mask = (kidx.transpose(-1, -2) < 0) | (kidx.transpose(-1, -2) >= n) | (dist > self.w)
        sim = sim.masked_fill(mask, -torch.finfo(sim.dtype).max)
        return torch.einsum("bwij,bwjd->bwid", sim.softmax(-1), v).reshape(b, -1, d)[:, :n]


class Linformer(nn.Module):
    def __init__(self, dim, seq, k=4):
        super().__init__()
        self.E, self.Fp = nn.Parameter(torch.randn(k, seq) / seq**0.5), nn.Parameter(torch.randn(k, seq) / seq**0.5)
        self.q, self.kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)

    def forward(self, x):
        q = self.q(x)
        k, v = self.kv(x).chunk(2, -1)
        k, v = torch.einsum("kn,bnd->bkd", self.E, k), torch.einsum("kn,bnd->bkd", self.Fp, v)
        return (q @ k.transpose(1, 2) / q.size(-1) ** 0.5).softmax(-1) @ v


def orthogonal_features(nb, cols):
    q, _ = torch.linalg.qr(torch.randn(cols, cols))
    blocks = [q.t()[: min(cols, nb - i)] for i in range(0, nb, cols)]
    return torch.cat(blocks)[:nb] * torch.randn(nb, cols).norm(dim=1, keepdim=True)


class Performer(nn.Module):
    def __init__(self, dim, nb=12):
        super().__init__()
        self.qkv = nn.Linear(dim, dim * 3)
        self.register_buffer("proj", orthogonal_features(nb, dim))

    def phi(self, x, is_query, eps=1e-4):
        norm = x.shape[-1] ** -0.25
        dash = torch.einsum("...id,jd->...ij", norm * x, self.proj)
        diag = ((x**2).sum(-1) / 2.0 * norm**2).unsqueeze(-1)
        stab = torch.amax(dash, dim=-1, keepdim=True) if is_query else torch.amax(dash, dim=(-1, -2), keepdim=True)
        return self.proj.shape[0] ** -0.5 * (torch.exp(dash - diag - stab.detach()) + eps)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = self.phi(q, True), self.phi(k, False)
        d_inv = 1.0 / torch.einsum("...nd,...d->...n", q, k.sum(dim=-2))
        return torch.einsum("...de,...nd,...n->...ne", torch.einsum("...nd,...ne->...de", k, v), q, d_inv)


class LSH(nn.Module):
    def __init__(self, dim, buckets=4, chunk=4):
        super().__init__()
        self.qk, self.v, self.chunk = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False), chunk
        self.register_buffer("rot", torch.randn(dim, buckets // 2))

    def forward(self, x):
        b, n, d = x.shape
        qk, v = self.qk(x), self.v(x)
        rotated = qk.detach() @ self.rot
        bucket = torch.cat([rotated, -rotated], -1).argmax(-1)
        order = (bucket * n + torch.arange(n)).argsort(dim=-1)
        undo = order.argsort(dim=-1)
        take = lambda t, i: t.gather(1, i.unsqueeze(-1).expand(-1, -1, t.size(-1)))
        sq, sv = take(qk, order).view(b, -1, self.chunk, d), take(v, order).view(b, -1, self.chunk, d)
        sk = F.normalize(sq, dim=-1)
        sk, sv = torch.cat([sk, sk.roll(1, 1)], 2), torch.cat([sv, sv.roll(1, 1)], 2)
        dots = torch.einsum("bcid,bcjd->bcij", sq, sk) * d**-0.5
        out = torch.exp(dots - dots.logsumexp(-1, keepdim=True)) @ sv
        return take(out.reshape(b, n, d), undo)


torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 2, 10, 8, requires_grad=True).unbind(0)
fast = torch.compile(flash, backend="aot_eager")
o, L = fast(q, k, v)
print(torch.allclose(o, naive(q, k, v), atol=1e-6), f"{L.sum().item():.5f}")
x = torch.randn(2, 12, 16)
for name, m in dict(alibi=ALiBi(16, 6 - 2), sliding=SlidingChunks(16, 5), linformer=Linformer(16, 12), performer=Performer(16), lsh=LSH(16)).items():
    c = torch.compile(m)
    opt = torch.optim.SGD(m.parameters(), lr=0.5)
    losses = []
    for _ in range(2):
        loss = (c(x) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(f"{loss.item():.5f}")
    print(name, *losses)
print([round(s, 5) for s in get_slopes(6)])
