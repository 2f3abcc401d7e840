import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import Optional, Tuple


class CausalConv1d(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, dilation=1, **kwargs):
        super().__init__()
        self.padding = (kernel_size - 1) * dilation
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size, padding=self.padding, dilation=dilation, **kwargs)

    def forward(self, x):
        x = self.conv(x)
        return x[:, :, :-self.padding]


class BlockDiagonal(nn.Module):
    def __init__(self, in_features, out_features, num_blocks):
        super().__init__()
        assert out_features % num_blocks == 0
        block = out_features // num_blocks
        self.blocks = nn.ModuleList([nn.Linear(in_features, block) for _ in range(num_blocks)])

    def forward(self, x):
        x = [b(x) for b in self.blocks]
        return torch.cat(x, dim=-1)


class sLSTMCell(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.d, self.h = d, heads
        self.W = nn.Linear(d, 4 * d)
        self.R = nn.Parameter(torch.randn(4, heads, d // heads, d // heads) / math.sqrt(d // heads))

    def forward(self, x, state):
        h, c, n, m = state
        B = x.shape[0]
        hh = h.view(B, self.h, -1)
        rec = torch.einsum("bhd,ghde->gbhe", hh, self.R).reshape(4, B, self.d)
        z, i, f, o = (self.W(x).view(B, 4, self.d).transpose(0, 1) + rec).unbind(0)
        logf = F.logsigmoid(f)
        m_new = torch.max(logf + m, i)
        i = torch.exp(i - m_new)
        f = torch.exp(logf + m - m_new)
        c = f * c + i * torch.tanh(z)
        n = f * n + i
        h = torch.sigmoid(o) * (c / n.clamp(min=1e-6))
        return h, c, n, m_new


class sLSTMBlock(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.conv = CausalConv1d(d, d, 4, groups=d)
        self.cell = sLSTMCell(d, heads)
        self.gn = nn.GroupNorm(heads, d)
        self.up = nn.Linear(d, 2 * int(d * 4 / 3), bias=False)
        self.down = nn.Linear(int(d * 4 / 3), d, bias=False)

    def forward(self, x):
        B, T, D = x.shape
        res = x
        x = self.norm(x)
        x = F.silu(self.conv(x.mT).mT)
        state = tuple(x.new_zeros(B, D) for _ in range(4))
        outs = []
        for t in range(T):
            state = self.cell(x[:, t], state)
            outs.append(state[0])
        y = torch.stack(outs, 1)
        y = self.gn(y.flatten(0, 1)).unflatten(0, (B, T))
        a, b = self.up(y).chunk(2, -1)
        return res + self.down(a * F.gelu(b, approximate="tanh"))


class mLSTMBlock(nn.Module):
    def __init__(self, d, heads, pf=2):
        super().__init__()
        self.heads = heads
        inner = d * pf
        self.norm = nn.LayerNorm(d)
        self.up = nn.Linear(d, 2 * inner)
        self.conv = CausalConv1d(inner, inner, 4, groups=inner)
        self.q = BlockDiagonal(inner, inner, 2)
        self.k = BlockDiagonal(inner, inner, 2)
        self.v = BlockDiagonal(inner, inner, 2)
        self.gates = nn.Linear(inner, 2 * heads)
        self.skip = nn.Parameter(torch.ones(inner))
        self.mhn = nn.GroupNorm(heads, inner)
        self.down = nn.Linear(inner, d)
        nn.init.constant_(self.gates.bias[heads:], 3.0)

    def parallel(self, q, k, v, igate, fgate):
        B, NH, S, DH = q.shape
        logf = F.logsigmoid(fgate)
        cum = torch.cat([torch.zeros_like(logf[..., :1, :]), logf.cumsum(-2)], dim=-2)
        rep = cum.repeat(1, 1, 1, S + 1)
        mat = rep - rep.transpose(-2, -1)
        ltr = torch.tril(torch.ones(S, S, dtype=torch.bool, device=q.device))
        logD = torch.where(ltr, mat[:, :, 1:, 1:], -float("inf")) + igate.transpose(-2, -1)
        max_log, _ = torch.max(logD, dim=-1, keepdim=True)
        D = torch.exp(logD - max_log)
        C = (q @ k.transpose(-2, -1)) / math.sqrt(DH) * D
        norm = torch.maximum(C.sum(-1, keepdim=True).abs(), torch.exp(-max_log))
        return (C / (norm + 1e-6)) @ v

    def forward(self, x):
        B, T, _ = x.shape
        u, gate = self.up(self.norm(x)).chunk(2, dim=-1)
        c = F.silu(self.conv(u.transpose(1, 2)).transpose(1, 2))
        q, k, v = self.q(c), self.k(c), self.v(u)
        i, f = self.gates(c).transpose(1, 2).unsqueeze(-1).split(self.heads, dim=1)
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        h = self.parallel(q, k, v, i, f)
        h = h.transpose(1, 2).reshape(B * T, -1)
        h = self.mhn(h).view(B, T, -1) + self.skip * c
        return x + self.down(h * F.silu(gate))


class xLSTM(nn.Module):
    def __init__(self, vocab, d, pattern="msm", heads=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList([sLSTMBlock(d, heads) if p == "s" else mLSTMBlock(d, heads) for p in pattern])
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, idx, targets: Optional[torch.Tensor] = None):
        x = self.emb(idx)
        for b in self.blocks:
            x = b(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


torch.manual_seed(0)
net = xLSTM(17, 8)
print(net)
opt = torch.optim.RAdam(net.parameters(), lr=3e-3, decoupled_weight_decay=True, weight_decay=0.01)
step_fn = torch.compile(net)
data = torch.randint(0, 17, (2, 9))
for it in range(4):
    logits, loss = step_fn(data[:, :-1], data[:, 1:])
    opt.zero_grad()
    loss.backward()
    gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    print(f"{it} loss={loss.item():.5f} grad_norm={gn:.5f}")
net.eval()
with torch.inference_mode():
    print(step_fn(data[:, :-1]).argmax(-1))
