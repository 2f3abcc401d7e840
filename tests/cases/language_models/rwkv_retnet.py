"""Attention without attention: RWKV's time mixing, RetNet's three forms of retention, linear attention, and an LRU scan."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TimeMix(nn.Module):
    def __init__(self, n_embd, layer_id=0, n_layer=2):
        super().__init__()
        ratio_0_to_1 = layer_id / (n_layer - 1)
        ratio_1_to_almost0 = 1.0 - (layer_id / n_layer)
        with torch.no_grad():
            decay_speed = torch.ones(n_embd)
            for h in range(n_embd):
                decay_speed[h] = -5 + 8 * (h / (n_embd - 1)) ** (0.7 + 1.3 * ratio_0_to_1)
            self.time_decay = nn.Parameter(decay_speed)
            zigzag = torch.tensor([(i + 1) % 3 - 1 for i in range(n_embd)]) * 0.5
            self.time_first = nn.Parameter(torch.ones(n_embd) * math.log(0.3) + zigzag)
            x = torch.ones(1, 1, n_embd)
            for i in range(n_embd):
                x[0, 0, i] = i / n_embd
            self.time_mix_k = nn.Parameter(torch.pow(x, ratio_1_to_almost0))
            self.time_mix_v = nn.Parameter(torch.pow(x, ratio_1_to_almost0) + 0.3 * ratio_0_to_1)
            self.time_mix_r = nn.Parameter(torch.pow(x, 0.5 * ratio_1_to_almost0))
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.key = nn.Linear(n_embd, n_embd, bias=False)
        self.value = nn.Linear(n_embd, n_embd, bias=False)
        self.receptance = nn.Linear(n_embd, n_embd, bias=False)
        self.output = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x):
        B, T, C = x.size()
        xx = self.time_shift(x)
        k = self.key(x * self.time_mix_k + xx * (1 - self.time_mix_k))
        v = self.value(x * self.time_mix_v + xx * (1 - self.time_mix_v))
        r = self.receptance(x * self.time_mix_r + xx * (1 - self.time_mix_r))
        w, u = -torch.exp(self.time_decay), self.time_first
        aa, bb, pp = torch.zeros(B, C), torch.zeros(B, C), torch.full((B, C), -1e38)
        out = []
        for t in range(T):
            kk, vv = k[:, t], v[:, t]
            ww = u + kk
            p = torch.maximum(pp, ww)
            e1, e2 = torch.exp(pp - p), torch.exp(ww - p)
            out.append((e1 * aa + e2 * vv) / (e1 * bb + e2))
            ww = w + pp
            p = torch.maximum(ww, kk)
            e1, e2 = torch.exp(ww - p), torch.exp(kk - p)
            aa, bb, pp = e1 * aa + e2 * vv, e1 * bb + e2, p
        return self.output(torch.sigmoid(r) * torch.stack(out, 1))


class Retention(nn.Module):
    def __init__(self, dim, gamma):
        super().__init__()
        self.gamma = gamma
        self.W_Q = nn.Parameter(torch.randn(dim, dim) / dim)
        self.W_K = nn.Parameter(torch.randn(dim, dim) / dim)
        self.W_V = nn.Parameter(torch.randn(dim, dim) / dim)

    def _get_D(self, n):
        i, j = torch.arange(n).unsqueeze(1), torch.arange(n).unsqueeze(0)
        D = (self.gamma ** (i - j)) * (i >= j).float()
        D[D != D] = 0
        return D

    def forward(self, X):
        Q, K, V = X @ self.W_Q, X @ self.W_K, X @ self.W_V
        return (Q @ K.permute(0, 2, 1) * self._get_D(X.shape[1]).unsqueeze(0)) @ V

    def forward_recurrent(self, x_n, s):
        Q, K, V = x_n @ self.W_Q, x_n @ self.W_K, x_n @ self.W_V
        s = self.gamma * s + K.transpose(-1, -2) @ V
        return Q @ s, s

    def forward_chunkwise(self, x_i, r_prev):
        B, chunk, D = x_i.shape
        D = self._get_D(chunk)
        Q, K, V = x_i @ self.W_Q, x_i @ self.W_K, x_i @ self.W_V
        r_i = (K.transpose(-1, -2) @ (V * D[-1].view(1, chunk, 1))) + (self.gamma ** chunk) * r_prev
        inner = ((Q @ K.transpose(-1, -2)) * D.unsqueeze(0)) @ V
        e = torch.zeros(B, chunk, 1)
        for _i in range(chunk):
            e[:, _i, :] = self.gamma ** (_i + 1)
        return inner + (Q @ r_prev) * e, r_i


def elu_feature_map(x):
    return F.elu(x) + 1


class LinearAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in self.to_qkv(x).chunk(3, -1))
        q, k = elu_feature_map(q), elu_feature_map(k)
        kv = torch.einsum("nshd,nshm->nshmd", k, v).cumsum(1)
        z = 1 / (torch.einsum("nlhd,nlhd->nlh", q, k.cumsum(1)) + 1e-6)
        return torch.einsum("nlhd,nlhmd,nlh->nlhm", q, kv, z).flatten(-2)


class LRU(nn.Module):
    def __init__(self, dim, state, r_min=0.4, r_max=0.9, max_phase=6.28):
        super().__init__()
        u1, u2 = torch.rand(state), torch.rand(state)
        self.nu_log = nn.Parameter(torch.log(-0.5 * torch.log(u1 * (r_max + r_min) * (r_max - r_min) + r_min ** 2)))
        self.theta_log = nn.Parameter(torch.log(max_phase * u2))
        self.B = nn.Parameter(torch.randn(state, dim, 2) / (2 * dim) ** 0.5)
        self.C = nn.Parameter(torch.randn(dim, state, 2) / state ** 0.5)
        self.D = nn.Parameter(torch.randn(dim))

    def forward(self, u):
        lam_abs = torch.exp(-torch.exp(self.nu_log))
        theta = torch.exp(self.theta_log)
        re, im = lam_abs * torch.cos(theta), lam_abs * torch.sin(theta)
        gamma = torch.sqrt(1 - lam_abs ** 2)
        bu_re, bu_im = u @ self.B[..., 0].T * gamma, u @ self.B[..., 1].T * gamma
        x_re, x_im, ys = torch.zeros_like(bu_re[:, 0]), torch.zeros_like(bu_im[:, 0]), []
        for t in range(u.shape[1]):
            x_re, x_im = re * x_re - im * x_im + bu_re[:, t], re * x_im + im * x_re + bu_im[:, t]
            ys.append(x_re @ self.C[..., 0].T - x_im @ self.C[..., 1].T + self.D * u[:, t])
        return torch.stack(ys, 1)


x = torch.randn(2, 6, 8)
for name, layer in {"rwkv": TimeMix(8, 1), "retention": Retention(8, 0.9), "linear": LinearAttention(8, 2), "lru": LRU(8, 4)}.items():
    fn = torch.compile(layer)
    inp = x.clone().requires_grad_()
    out = fn(inp)
    out.pow(2).mean().backward()
    print(f"{name:10s} {tuple(out.shape)} {out.mean().item():.5f} {inp.grad.norm().item():.5f}", {n: round(p.grad.abs().sum().item(), 4) for n, p in layer.named_parameters()})

ret = Retention(8, 0.9)
with torch.no_grad():
    parallel = ret(x)
    s, recurrent = torch.zeros(2, 8, 8), []
    for i in range(6):
        y, s = ret.forward_recurrent(x[:, i:i + 1], s)
        recurrent.append(y)
    r, chunks = torch.zeros(2, 8, 8), []
    for i in range(0, 6, 3):
        y, r = ret.forward_chunkwise(x[:, i:i + 3], r)
        chunks.append(y)
print(torch.allclose(parallel, torch.cat(recurrent, 1), atol=1e-5), torch.allclose(parallel, torch.cat(chunks, 1), atol=1e-5))
