"""A small Conformer encoder for speech with CTC: mel features by hand, SpecAugment, relative positions, greedy and beam decoding."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from typing import Optional, Tuple
from collections import defaultdict


def hz_to_mel(f): return 2595.0 * math.log10(1.0 + f / 700.0)
def mel_to_hz(m): return 700.0 * (10 ** (m / 2595.0) - 1.0)


def mel_filterbank(n_mels, n_fft, sr):
    pts = torch.tensor([mel_to_hz(m) for m in torch.linspace(hz_to_mel(0.0), hz_to_mel(sr / 2), n_mels + 2).tolist()])
    freqs = torch.linspace(0, sr / 2, n_fft // 2 + 1)
    diff = pts[1:] - pts[:-1]
    slopes = pts.unsqueeze(0) - freqs.unsqueeze(1)
    down, up = -slopes[:, :-2] / diff[:-1], slopes[:, 2:] / diff[1:]
    return torch.max(torch.zeros(1), torch.min(down, up))


class LogMel(nn.Module):
    def __init__(self, sr=1600, n_fft=64, hop=32, n_mels=12):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("fb", mel_filterbank(n_mels, n_fft, sr))

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True)
        power = spec.abs().pow(2)
        return torch.log(power.transpose(1, 2) @ self.fb + 1e-6)


def spec_augment(x, F_max=3, T_max=4):
    x = x.clone()
    b, t, f = x.shape
    f0 = torch.randint(0, f - F_max, (1,)).item()
    x[:, :, f0:f0 + torch.randint(1, F_max + 1, (1,)).item()] = 0
    t0 = int(torch.randint(0, t - T_max, ()).item())
    x[:, t0:t0 + T_max] = 0
    return x


class Swish(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * x.sigmoid()


class RelPositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 64) -> None:
        super().__init__()
        pe_positive = torch.zeros(max_len, d_model)
        pe_negative = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float) * -(math.log(10000.0) / d_model))
        pe_positive[:, 0::2] = torch.sin(position * div_term)
        pe_positive[:, 1::2] = torch.cos(position * div_term)
        pe_negative[:, 0::2] = torch.sin(-1 * position * div_term)
        pe_negative[:, 1::2] = torch.cos(-1 * position * div_term)
        self.register_buffer("pe", torch.cat([torch.flip(pe_positive, [0]).unsqueeze(0), pe_negative[1:].unsqueeze(0)], dim=1))

    def forward(self, x: Tensor) -> Tensor:
        n = self.pe.size(1)
        return self.pe[:, n // 2 - x.size(1) + 1: n // 2 + x.size(1)]


class RelativeMultiHeadAttention(nn.Module):
    def __init__(self, d_model=16, num_heads=4, dropout_p=0.0):
        super().__init__()
        assert d_model % num_heads == 0, "d_model % num_heads should be zero."
        self.d_model, self.d_head, self.num_heads = d_model, d_model // num_heads, num_heads
        self.query_proj, self.key_proj, self.value_proj = (nn.Linear(d_model, d_model) for _ in range(3))
        self.pos_proj = nn.Linear(d_model, d_model, bias=False)
        self.u_bias = nn.Parameter(torch.Tensor(self.num_heads, self.d_head))
        self.v_bias = nn.Parameter(torch.Tensor(self.num_heads, self.d_head))
        torch.nn.init.xavier_uniform_(self.u_bias)
        torch.nn.init.xavier_uniform_(self.v_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, pos, mask: Optional[Tensor] = None):
        b, t, _ = x.shape
        query = self.query_proj(x).view(b, -1, self.num_heads, self.d_head)
        key = self.key_proj(x).view(b, -1, self.num_heads, self.d_head).permute(0, 2, 1, 3)
        value = self.value_proj(x).view(b, -1, self.num_heads, self.d_head).permute(0, 2, 1, 3)
        pos = self.pos_proj(pos).view(1, -1, self.num_heads, self.d_head)
        content = torch.matmul((query + self.u_bias).transpose(1, 2), key.transpose(2, 3))
        pos_score = self._relative_shift(torch.matmul((query + self.v_bias).transpose(1, 2), pos.permute(0, 2, 3, 1)))
        score = (content + pos_score) / math.sqrt(self.d_model)
        if mask is not None:
            score.masked_fill_(mask.unsqueeze(1), -1e9)
        attn = F.softmax(score, -1)
        return self.out_proj(torch.matmul(attn, value).transpose(1, 2).contiguous().view(b, -1, self.d_model))

    def _relative_shift(self, pos_score):
        b, h, t1, t2 = pos_score.size()
        zeros = pos_score.new_zeros(b, h, t1, 1)
        padded = torch.cat([zeros, pos_score], dim=-1).view(b, h, t2 + 1, t1)
        return padded[:, :, 1:].view_as(pos_score)[:, :, :, : t2 // 2 + 1]


class ConvModule(nn.Module):
    def __init__(self, d, k=5):
        super().__init__()
        self.seq = nn.Sequential(nn.Conv1d(d, 2 * d, 1), nn.GLU(dim=1), nn.Conv1d(d, d, k, padding="same", groups=d, bias=False), nn.BatchNorm1d(d), Swish(), nn.Conv1d(d, d, 1))
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        return self.seq(self.norm(x).transpose(1, 2)).transpose(1, 2)


def ff(d): return nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), Swish(), nn.Dropout(0.1), nn.Linear(2 * d, d))


class ConformerBlock(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.ff1, self.ff2, self.conv = ff(d), ff(d), ConvModule(d)
        self.norm_a, self.attn, self.pos, self.norm = nn.LayerNorm(d), RelativeMultiHeadAttention(d), RelPositionalEncoding(d), nn.LayerNorm(d)

    def forward(self, x, mask=None):
        x = x + 0.5 * self.ff1(x)
        x = x + self.attn(self.norm_a(x), self.pos(x), mask)
        x = x + self.conv(x)
        return self.norm(x + 0.5 * self.ff2(x))


class Conformer(nn.Module):
    def __init__(self, n_mels=12, d=16, vocab=8):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 4, 3, 1), nn.ReLU())
        self.proj = nn.Linear(4 * (((n_mels - 1) // 2) - 2), d)
        self.blocks = nn.ModuleList([ConformerBlock(d) for _ in range(2)])
        self.fc = nn.Linear(d, vocab, bias=False)

    def forward(self, x: Tensor, lengths: Tensor) -> Tuple[Tensor, Tensor]:
        y = self.sub(x.unsqueeze(1))
        b, c, t, f = y.size()
        y = self.proj(y.permute(0, 2, 1, 3).contiguous().view(b, t, c * f))
        out_len = torch.div(lengths - 1, 2, rounding_mode="floor") - 2
        mask = torch.arange(t)[None, None, :] >= out_len[:, None, None]
        for blk in self.blocks:
            y = blk(y, mask.expand(b, t, t))
        return F.log_softmax(self.fc(y), dim=-1), out_len


def greedy(logp, lengths, blank=0):
    out = []
    for p, n in zip(logp.argmax(-1), lengths):
        p = torch.unique_consecutive(p[:n])
        out.append(p[p != blank].tolist())
    return out


def beam_search(logp, beam=3, blank=0):
    beams = {(): (0.0, -math.inf)}
    for t in range(logp.size(0)):
        nxt = defaultdict(lambda: (-math.inf, -math.inf))
        lse = lambda *a: max(a) + math.log(sum(math.exp(v - max(a)) for v in a)) if max(a) > -math.inf else -math.inf
        for prefix, (pb, pnb) in beams.items():
            for s in range(logp.size(1)):
                p = logp[t, s].item()
                if s == blank:
                    b, nb = nxt[prefix]
                    nxt[prefix] = (lse(b, pb + p, pnb + p), nb)
                    continue
                new = prefix + (s,)
                b, nb = nxt[new]
                if prefix and s == prefix[-1]:
                    nxt[new] = (b, lse(nb, pb + p))
                    b2, nb2 = nxt[prefix]
                    nxt[prefix] = (b2, lse(nb2, pnb + p))
                else:
                    nxt[new] = (b, lse(nb, pb + p, pnb + p))
        beams = dict(sorted(nxt.items(), key=lambda kv: lse(*kv[1]), reverse=True)[:beam])
    return list(next(iter(beams)))


torch.manual_seed(0)
wav = torch.sin(torch.linspace(0, 300, 960))[None] * torch.tensor([[0.5], [1.0]]) + 0.05 * torch.randn(2, 960)
mel = LogMel()
feats = mel(wav)
print(feats.shape, f"{feats.mean().item():.4f}")
lengths, targets, target_lengths = torch.tensor([feats.size(1), 25]), torch.randint(1, 8, (2, 4)), torch.tensor([4, 3])
model = Conformer()
net = torch.compile(model, backend="aot_eager")
opt = torch.optim.NAdam(model.parameters(), lr=2e-3)
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
for step in range(3):
    logp, out_len = net(spec_augment(feats), lengths)
    loss = ctc(logp.transpose(0, 1), targets, out_len, target_lengths)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 1.0)
    opt.step()
    print(step, f"{loss.item():.4f}", out_len.tolist())
model.eval()
with torch.no_grad():
    logp, out_len = model(feats, lengths)
print(greedy(logp, out_len), beam_search(logp[0, :5]))
