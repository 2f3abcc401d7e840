"""Mixture of depths, multi-query attention with ALiBi, speculative decoding, int8 KV cache."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)

def alibi(heads):
    start = 2 ** (-8 / heads)
    return torch.tensor([start ** (i + 1) for i in range(heads)])

class MQA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.hd = h, d // h
        self.q = nn.Linear(d, d, bias=False)
        self.kv = nn.Linear(d, 2 * self.hd, bias=False)
        self.o = nn.Linear(d, d, bias=False)
        self.register_buffer("slopes", alibi(h), persistent=False)
    def forward(self, x, cache=None):
        b, t, d = x.shape
        q = self.q(x).view(b, t, self.h, self.hd).transpose(1, 2)
        k, v = self.kv(x).split(self.hd, -1)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        s = k.shape[1]
        att = torch.einsum("bhtd,bsd->bhts", q, k) / math.sqrt(self.hd)
        pos = torch.arange(s - t, s)[:, None] - torch.arange(s)[None]
        att = att - self.slopes[:, None, None] * pos.clamp(min=0)
        att = att.masked_fill(pos < 0, -torch.inf)
        y = torch.einsum("bhts,bsd->bthd", att.softmax(-1), v).flatten(2)
        return self.o(y), (k, v)

class RMSNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))
    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.g, 1e-6)

class MoDBlock(nn.Module):
    def __init__(self, d, h, cap=0.5):
        super().__init__()
        self.router = nn.Linear(d, 1)
        self.n1, self.n2 = RMSNorm(d), RMSNorm(d)
        self.attn = MQA(d, h)
        self.w1, self.w2, self.w3 = nn.Linear(d, 2 * d), nn.Linear(2 * d, d), nn.Linear(d, 2 * d)
        self.cap = cap
    def block(self, x):
        x = x + self.attn(self.n1(x))[0]
        h = self.n2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))
    def forward(self, x):
        b, t, d = x.shape
        k = max(1, int(t * self.cap))
        w = self.router(x).squeeze(-1)
        top, idx = w.topk(k, dim=1)
        idx, order = idx.sort(dim=1)
        top = top.gather(1, order)
        sel = x.gather(1, idx[..., None].expand(-1, -1, d))
        out = self.block(sel) * top.sigmoid()[..., None]
        return x.scatter_add(1, idx[..., None].expand(-1, -1, d), out), w

class LM(nn.Module):
    def __init__(self, v=16, d=12, h=3, n=2):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.blocks = nn.ModuleList(MoDBlock(d, h) for _ in range(n))
        self.norm = RMSNorm(d)
        self.head = nn.Linear(d, v, bias=False)
    def forward(self, ids):
        x, aux = self.emb(ids), []
        for b in self.blocks:
            x, w = b(x)
            aux.append(w.sigmoid().mean())
        return self.head(self.norm(x)), torch.stack(aux).mean()

m = LM()
cm = torch.compile(m)
opt = torch.optim.NAdam(m.parameters(), lr=1e-2, momentum_decay=4e-3)
for step, t in enumerate((8, 8, 10, 6)):
    ids = torch.randint(0, 16, (2, t + 1))
    logits, aux = cm(ids[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), label_smoothing=0.1) + 0.1 * (aux - 0.5) ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, t, f"{loss.item():.3f}")

@torch.compile
def quant(x):
    s = x.abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127
    return (x / s).round().clamp(-127, 127).to(torch.int8), s

@torch.compile
def dequant(q, s):
    return q.to(s.dtype) * s

attn = torch.compile(m.blocks[0].attn)
with torch.no_grad():
    cache, err = None, 0.0
    for t in range(4):
        x = m.emb(torch.tensor([[t]]))
        y, (k, v) = attn(x, cache)
        (qk, sk), (qv, sv) = quant(k), quant(v)
        cache = (dequant(qk, sk), dequant(qv, sv))
        err = max(err, (cache[0] - k).abs().max().item())
        print(t, tuple(k.shape), qk.dtype, f"{y.sum().item():.3f}")
    print(err < 0.02)
