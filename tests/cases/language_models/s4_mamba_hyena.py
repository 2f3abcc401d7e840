"""State spaces and long convolutions: S4D, a selective scan, Hyena with FFT convolutions, RetNet chunkwise, gated linear attention."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class S4DKernel(nn.Module):
    def __init__(self, d_model, N=8, dt_min=0.001, dt_max=0.1, lr=None):
        super().__init__()
        H = d_model
        log_dt = torch.rand(H) * (math.log(dt_max) - math.log(dt_min)) + math.log(dt_min)
        C = torch.randn(H, N // 2, dtype=torch.cfloat)
        self.C = nn.Parameter(torch.view_as_real(C))
        self.register("log_dt", log_dt, lr)
        log_A_real = torch.log(0.5 * torch.ones(H, N // 2))
        A_imag = math.pi * torch.arange(N // 2).expand(H, N // 2)
        self.register("log_A_real", log_A_real, lr)
        self.register("A_imag", A_imag.contiguous().float(), lr)

    def forward(self, L):
        dt = torch.exp(self.log_dt)
        C = torch.view_as_complex(self.C)
        A = -torch.exp(self.log_A_real) + 1j * self.A_imag
        dtA = A * dt.unsqueeze(-1)
        K = dtA.unsqueeze(-1) * torch.arange(L)
        C = C * (torch.exp(dtA) - 1.0) / A
        K = 2 * torch.einsum("hn, hnl -> hl", C, torch.exp(K)).real
        return K

    def register(self, name, tensor, lr=None):
        if lr == 0.0:
            self.register_buffer(name, tensor)
        else:
            self.register_parameter(name, nn.Parameter(tensor))
            optim = {"weight_decay": 0.0}
            if lr is not None:
                optim["lr"] = lr
            setattr(getattr(self, name), "_optim", optim)


class S4D(nn.Module):
    def __init__(self, d_model, d_state=8, dropout=0.0, transposed=True, **kernel_args):
        super().__init__()
        self.h, self.n = d_model, d_state
        self.D = nn.Parameter(torch.randn(self.h))
        self.kernel = S4DKernel(self.h, N=self.n, **kernel_args)
        self.activation = nn.GELU()
        self.dropout = nn.Dropout(dropout) if dropout > 0.0 else nn.Identity()
        self.output_linear = nn.Sequential(nn.Conv1d(self.h, 2 * self.h, kernel_size=1), nn.GLU(dim=-2))

    def forward(self, u):
        L = u.size(-1)
        k = self.kernel(L=L)
        k_f = torch.fft.rfft(k, n=2 * L)
        u_f = torch.fft.rfft(u, n=2 * L)
        y = torch.fft.irfft(u_f * k_f, n=2 * L)[..., :L]
        y = y + u * self.D.unsqueeze(-1)
        return self.output_linear(self.dropout(self.activation(y)))


class SelectiveSSM(nn.Module):
    def __init__(self, d_model, d_state=4, dt_rank=2, d_conv=3):
        super().__init__()
        self.d_inner, self.d_state, self.dt_rank = 2 * d_model, d_state, dt_rank
        self.in_proj = nn.Linear(d_model, 2 * self.d_inner, bias=False)
        self.conv1d = nn.Conv1d(self.d_inner, self.d_inner, d_conv, groups=self.d_inner, padding=d_conv - 1)
        self.x_proj = nn.Linear(self.d_inner, dt_rank + 2 * d_state, bias=False)
        self.dt_proj = nn.Linear(dt_rank, self.d_inner)
        A = torch.arange(1, d_state + 1, dtype=torch.float32).repeat(self.d_inner, 1)
        self.A_log = nn.Parameter(torch.log(A))
        self.A_log._no_weight_decay = True
        self.D = nn.Parameter(torch.ones(self.d_inner))
        self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)

    def forward(self, x):
        b, l, _ = x.shape
        x, res = self.in_proj(x).split([self.d_inner, self.d_inner], dim=-1)
        x = F.silu(self.conv1d(x.mT)[..., :l].mT)
        delta, B, C = self.x_proj(x).split([self.dt_rank, self.d_state, self.d_state], dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        dA = torch.exp(torch.einsum("bld,dn->bldn", delta, -torch.exp(self.A_log.float())))
        dBx = torch.einsum("bld,bln,bld->bldn", delta, B, x)
        h, ys = torch.zeros(b, self.d_inner, self.d_state), []
        for i in range(l):
            h = dA[:, i] * h + dBx[:, i]
            ys.append(torch.einsum("bdn,bn->bd", h, C[:, i, :]))
        y = torch.stack(ys, dim=1) + x * self.D
        return self.out_proj(y * F.silu(res))


def fftconv(u, k, D):
    seqlen = u.shape[-1]
    fft_size = 2 * seqlen
    k_f = torch.fft.rfft(k, n=fft_size) / fft_size
    u_f = torch.fft.rfft(u.to(dtype=k.dtype), n=fft_size)
    if len(u.shape) > 3:
        k_f = k_f.unsqueeze(1)
    y = torch.fft.irfft(u_f * k_f, n=fft_size, norm="forward")[..., :seqlen]
    return (y + u * D.unsqueeze(-1)).to(dtype=u.dtype)


class Sin(nn.Module):
    def __init__(self, dim, w=10, train_freq=True):
        super().__init__()
        self.freq = nn.Parameter(w * torch.ones(1, dim)) if train_freq else w * torch.ones(1, dim)

    def forward(self, x):
        return torch.sin(self.freq * x)


class HyenaFilter(nn.Module):
    def __init__(self, d_model, emb_dim=3, order=8, seq_len=16):
        super().__init__()
        t = torch.linspace(0, 1, seq_len)[None, :, None]
        bands = (emb_dim - 1) // 2
        w = 2 * math.pi * torch.linspace(0, seq_len - 1, seq_len)[None, :, None] / seq_len
        f = torch.linspace(1e-4, bands - 1, bands)[None, None]
        z = torch.exp(-1j * f * w)
        self.register_buffer("z", torch.cat([t, z.real, z.imag], dim=-1))
        self.register_buffer("t", t)
        self.implicit = nn.Sequential(nn.Linear(emb_dim, order), Sin(order), nn.Linear(order, order), Sin(order), nn.Linear(order, d_model, bias=False))
        self.deltas = nn.Parameter(torch.linspace(math.log(1e-2) / 1.5, math.log(1e-2) / 0.3, d_model)[None, None])
        self.bias = nn.Parameter(torch.randn(d_model))

    def forward(self, x):
        L = x.shape[-1]
        h = self.implicit(self.z[:, :L]) * (torch.exp(-self.t[:, :L] * self.deltas.abs()) + 0.05)
        return fftconv(x, h.squeeze(0).transpose(0, 1), self.bias)


class Hyena(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.inp, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.short = nn.Conv1d(3 * d, 3 * d, 3, padding=2, groups=3 * d)
        self.filter = HyenaFilter(d)

    def forward(self, u):
        l = u.size(-2)
        uc = self.short(self.inp(u).transpose(1, 2))[..., :l]
        *x, v = uc.split(u.size(-1), dim=1)
        v = self.filter(v * x[1])
        return self.out((v * x[0]).transpose(1, 2))


class GatedLinearAttention(nn.Module):
    def __init__(self, d, heads=2, chunk=4):
        super().__init__()
        self.h, self.chunk = heads, chunk
        self.qkvg = nn.Linear(d, 4 * d, bias=False)
        gamma = 1 - torch.exp(torch.linspace(math.log(1 / 32), math.log(1 / 512), heads))
        self.register_buffer("gamma", gamma)
        self.norm = nn.GroupNorm(heads, d)
        self.o = nn.Linear(d, d, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v, g = self.qkvg(x).chunk(4, -1)
        q, k, v = (z.view(b, t, self.h, -1).transpose(1, 2) for z in (q, k, v))
        c = self.chunk
        n = torch.arange(c)
        D = torch.where(n[:, None] >= n[None], self.gamma[:, None, None] ** (n[:, None] - n[None]), 0.0)
        state, outs = torch.zeros(b, self.h, d // self.h, d // self.h), []
        for i in range(0, t, c):
            qi, ki, vi = q[:, :, i : i + c], k[:, :, i : i + c], v[:, :, i : i + c]
            inner = (qi @ ki.transpose(-1, -2) * D) @ vi
            cross = (qi * self.gamma[None, :, None, None] ** (n + 1)[:, None]) @ state
            outs.append(inner + cross)
            state = state * self.gamma[None, :, None, None] ** c + ki.transpose(-1, -2) @ (vi * (self.gamma[None, :, None] ** (c - 1 - n)).unsqueeze(-1))
        y = torch.cat(outs, 2).transpose(1, 2).reshape(b * t, d)
        return self.o(self.norm(y).view(b, t, d) * F.silu(g))


torch.manual_seed(0)
x = torch.randn(2, 8, 6)
y = torch.roll(x, 1, dims=1)
layers = {"s4d": S4D(6, lr=0.001), "ssm": SelectiveSSM(6), "hyena": Hyena(6), "gla": GatedLinearAttention(6)}
for name, layer in layers.items():
    special = [p for p in layer.parameters() if hasattr(p, "_optim")]
    params = [{"params": [p for p in layer.parameters() if not hasattr(p, "_optim")]}] + [{"params": [p], **p._optim} for p in special]
    opt = torch.optim.AdamW(params, lr=0.01, weight_decay=0.01)
    f = torch.compile(layer, backend="aot_eager")
    losses = []
    for _ in range(3):
        out = f(x.transpose(1, 2)).transpose(1, 2) if name == "s4d" else f(x)
        loss = F.mse_loss(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f"{name}: " + ", ".join(f"{l:.5f}" for l in losses), len(opt.param_groups))
