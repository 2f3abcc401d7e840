# LLaMA block with RoPE (complex), GQA, SwiGLU, RMSNorm, KV cache, top-p sampling - HF-ish config object & output classes
import torch, math
import torch.nn as nn
import torch.nn.functional as F
from dataclasses import dataclass, field
from typing import Optional, Tuple, List
torch.manual_seed(0)
@dataclass
class ModelArgs:
    dim: int = 16
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: Optional[int] = 2
    vocab_size: int = 23
    multiple_of: int = 8
    norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    max_seq_len: int = 16
    stop: List[int] = field(default_factory=lambda: [0])
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__(); self.eps = eps; self.weight = nn.Parameter(torch.ones(dim))
    def _norm(self, x): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
    def forward(self, x): return self._norm(x.float()).type_as(x) * self.weight
def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device, dtype=torch.float32)
    return torch.polar(torch.ones_like(torch.outer(t, freqs)), torch.outer(t, freqs))
def reshape_for_broadcast(f, x):
    assert f.shape == (x.shape[1], x.shape[-1])
    return f.view(*[d if i == 1 or i == x.ndim - 1 else 1 for i, d in enumerate(x.shape)])
def apply_rotary_emb(xq, xk, f):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2)); xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    f = reshape_for_broadcast(f, xq_)
    return torch.view_as_real(xq_ * f).flatten(3).type_as(xq), torch.view_as_real(xk_ * f).flatten(3).type_as(xk)
def repeat_kv(x, n):
    b, s, h, d = x.shape
    return x if n == 1 else x[:, :, :, None, :].expand(b, s, h, n, d).reshape(b, s, h * n, d)
class Attention(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.nk = a.n_heads if a.n_kv_heads is None else a.n_kv_heads
        self.nh, self.rep, self.hd = a.n_heads, a.n_heads // self.nk, a.dim // a.n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(a.dim, self.nh * self.hd, bias=False), nn.Linear(a.dim, self.nk * self.hd, bias=False), nn.Linear(a.dim, self.nk * self.hd, bias=False), nn.Linear(self.nh * self.hd, a.dim, bias=False))
        self.cache_k = torch.zeros(2, a.max_seq_len, self.nk, self.hd); self.cache_v = torch.zeros_like(self.cache_k)
    def forward(self, x, start_pos, f, mask):
        b, s, _ = x.shape
        xq, xk, xv = self.wq(x).view(b, s, self.nh, self.hd), self.wk(x).view(b, s, self.nk, self.hd), self.wv(x).view(b, s, self.nk, self.hd)
        xq, xk = apply_rotary_emb(xq, xk, f)
        if not self.training:
            self.cache_k[:b, start_pos: start_pos + s] = xk; self.cache_v[:b, start_pos: start_pos + s] = xv
            xk, xv = self.cache_k[:b, : start_pos + s], self.cache_v[:b, : start_pos + s]
        k, v = repeat_kv(xk, self.rep).transpose(1, 2), repeat_kv(xv, self.rep).transpose(1, 2)
        scores = torch.matmul(xq.transpose(1, 2), k.transpose(2, 3)) / math.sqrt(self.hd)
        if mask is not None: scores = scores + mask
        o = torch.matmul(F.softmax(scores.float(), dim=-1).type_as(xq), v)
        return self.wo(o.transpose(1, 2).contiguous().view(b, s, -1))
class FeedForward(nn.Module):
    def __init__(self, dim, hidden, m):
        super().__init__(); hidden = m * ((int(2 * hidden / 3) + m - 1) // m)
        self.w1, self.w2, self.w3 = nn.Linear(dim, hidden, bias=False), nn.Linear(hidden, dim, bias=False), nn.Linear(dim, hidden, bias=False)
    def forward(self, x): return self.w2(F.silu(self.w1(x)) * self.w3(x))
class Block(nn.Module):
    def __init__(self, i, a):
        super().__init__(); self.layer_id, self.attention, self.feed_forward = i, Attention(a), FeedForward(a.dim, 4 * a.dim, a.multiple_of)
        self.attention_norm, self.ffn_norm = RMSNorm(a.dim, a.norm_eps), RMSNorm(a.dim, a.norm_eps)
    def forward(self, x, p, f, mask):
        h = x + self.attention(self.attention_norm(x), p, f, mask)
        return h + self.feed_forward(self.ffn_norm(h))
class Transformer(nn.Module):
    def __init__(self, a):
        super().__init__(); self.params = a
        self.tok_embeddings = nn.Embedding(a.vocab_size, a.dim); self.layers = nn.ModuleList()
        for i in range(a.n_layers): self.layers.append(Block(i, a))
        self.norm, self.output = RMSNorm(a.dim, a.norm_eps), nn.Linear(a.dim, a.vocab_size, bias=False)
        self.freqs_cis = precompute_freqs_cis(a.dim // a.n_heads, a.max_seq_len * 2, a.rope_theta)
    def forward(self, tokens, start_pos: int = 0):
        b, s = tokens.shape; h = self.tok_embeddings(tokens)
        f = self.freqs_cis[start_pos: start_pos + s]; mask = None
        if s > 1:
            mask = torch.full((s, s), float("-inf"), device=tokens.device); mask = torch.triu(mask, diagonal=1)
            mask = torch.hstack([torch.zeros((s, start_pos), device=tokens.device), mask]).type_as(h)
        for layer in self.layers: h = layer(h, start_pos, f, mask)
        return self.output(self.norm(h)).float()
m = Transformer(ModelArgs()); c = torch.compile(m)
opt = torch.optim.AdamW(m.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=False)
for i in range(3):
    t = torch.randint(1, 23, (2, 9)); loss = F.cross_entropy(c(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten(), ignore_index=-100)
    loss.backward(); opt.step(); opt.zero_grad(); print(i, f"{loss.item():.4f}")
def top_p(probs, p):
    s, i = torch.sort(probs, dim=-1, descending=True); cum = torch.cumsum(s, dim=-1); s[cum - s > p] = 0.0; s.div_(s.sum(dim=-1, keepdim=True))
    return torch.gather(i, -1, torch.multinomial(s, num_samples=1))
m.eval()
with torch.inference_mode():
    toks = torch.full((2, 10), -1); toks[:, :4] = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]]); prev = 0
    for cur in range(4, 10):
        logits = c(toks[:, prev:cur], prev); nxt = top_p(torch.softmax(logits[:, -1] / 0.8, -1), 0.9).reshape(-1)
        toks[:, cur] = torch.where(toks[:, cur] != -1, toks[:, cur], nxt); prev = cur
print(toks.shape, m.layers[0].attention.cache_k.abs().sum().item() > 0)
