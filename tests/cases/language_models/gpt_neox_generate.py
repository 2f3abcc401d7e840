"""GPT-NeoX style decoder (parallel residual, partial rotary) trained on a tiny periodic corpus, sampled with a static KV cache."""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class NeoXConfig:
    vocab_size: int = 17
    hidden_size: int = 16
    num_layers: int = 2
    num_heads: int = 2
    rotary_pct: float = 0.5
    max_len: int = 24
    use_parallel_residual: bool = True

    @property
    def head_dim(self):
        return self.hidden_size // self.num_heads


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, max_len, base=10000):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        t = torch.arange(max_len).float()
        emb = torch.cat([torch.outer(t, inv_freq)] * 2, dim=-1)
        self.register_buffer("cos_cached", emb.cos(), persistent=False)
        self.register_buffer("sin_cached", emb.sin(), persistent=False)

    def forward(self, position_ids):
        return self.cos_cached[position_ids], self.sin_cached[position_ids]


class StaticCache:
    def __init__(self, cfg, batch):
        shape = (cfg.num_layers, batch, cfg.num_heads, cfg.max_len, cfg.head_dim)
        self.k, self.v = torch.zeros(shape), torch.zeros(shape)

    def update(self, layer, pos, k, v):
        self.k[layer].index_copy_(2, pos, k)
        self.v[layer].index_copy_(2, pos, v)
        return self.k[layer], self.v[layer]


class Attention(nn.Module):
    def __init__(self, cfg, layer_idx):
        super().__init__()
        self.cfg, self.layer_idx = cfg, layer_idx
        self.rotary_ndims = int(cfg.head_dim * cfg.rotary_pct)
        self.query_key_value = nn.Linear(cfg.hidden_size, 3 * cfg.hidden_size)
        self.dense = nn.Linear(cfg.hidden_size, cfg.hidden_size)

    def forward(self, x, cos, sin, mask, pos, cache=None):
        B, T, _ = x.shape
        qkv = self.query_key_value(x).view(B, T, self.cfg.num_heads, 3 * self.cfg.head_dim).transpose(1, 2)
        q, k, v = qkv.chunk(3, dim=-1)
        n = self.rotary_ndims
        q_rot, q_pass = q[..., :n], q[..., n:]
        k_rot, k_pass = k[..., :n], k[..., n:]
        q = torch.cat((q_rot * cos + rotate_half(q_rot) * sin, q_pass), dim=-1)
        k = torch.cat((k_rot * cos + rotate_half(k_rot) * sin, k_pass), dim=-1)
        if cache is not None:
            k, v = cache.update(self.layer_idx, pos, k, v)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.dense(y.transpose(1, 2).reshape(B, T, -1))


class Layer(nn.Module):
    def __init__(self, cfg, i):
        super().__init__()
        self.parallel = cfg.use_parallel_residual
        self.input_layernorm = nn.LayerNorm(cfg.hidden_size)
        self.post_attention_layernorm = nn.LayerNorm(cfg.hidden_size)
        self.attention = Attention(cfg, i)
        self.mlp = nn.Sequential(nn.Linear(cfg.hidden_size, 4 * cfg.hidden_size), nn.GELU(approximate="tanh"), nn.Linear(4 * cfg.hidden_size, cfg.hidden_size))

    def forward(self, x, **kw):
        attn = self.attention(self.input_layernorm(x), **kw)
        if self.parallel:
            return x + attn + self.mlp(self.post_attention_layernorm(x))
        x = x + attn
        return x + self.mlp(self.post_attention_layernorm(x))


class NeoX(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed_in = nn.Embedding(cfg.vocab_size, cfg.hidden_size)
        self.rotary = RotaryEmbedding(int(cfg.head_dim * cfg.rotary_pct), cfg.max_len)
        self.layers = nn.ModuleList([Layer(cfg, i) for i in range(cfg.num_layers)])
        self.final_layer_norm = nn.LayerNorm(cfg.hidden_size)
        self.embed_out = nn.Linear(cfg.hidden_size, cfg.vocab_size, bias=False)
        self.apply(self._init)

    @staticmethod
    def _init(m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=math.sqrt(2 / 5 / m.weight.shape[1]))
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, ids, pos, cache=None, labels=None):
        x = self.embed_in(ids)
        cos, sin = self.rotary(pos)
        klen = self.cfg.max_len if cache is not None else ids.shape[1]
        mask = torch.arange(klen)[None, :] <= pos[:, None]
        for layer in self.layers:
            x = layer(x, cos=cos, sin=sin, mask=mask, pos=pos, cache=cache)
        logits = self.embed_out(self.final_layer_norm(x))
        if labels is None:
            return logits, None
        shift = logits[:, :-1].contiguous()
        return logits, F.cross_entropy(shift.view(-1, shift.size(-1)), labels[:, 1:].contiguous().view(-1))


torch.manual_seed(42)
cfg = NeoXConfig()
model = NeoX(cfg)
print(f"{sum(p.numel() for p in model.parameters())} parameters")
cmodel = torch.compile(model)
data = torch.tensor([[(i * s) % cfg.vocab_size for i in range(12)] for s in (1, 2, 3)])
decay = [p for p in model.parameters() if p.dim() > 1]
rest = [p for p in model.parameters() if p.dim() <= 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=5e-3, betas=(0.9, 0.95))
for it in range(4):
    logits, loss = cmodel(data, torch.arange(data.shape[1]), labels=data)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    print(f"iter {it}: loss {loss.item():.4f}, grad norm {norm:.3f}")


@torch.no_grad()
def generate(prompt, n, temperature=0.8, top_p=0.9):
    cache = StaticCache(cfg, prompt.shape[0])
    pos = torch.arange(prompt.shape[1])
    tok, out = prompt, [prompt]
    for _ in range(n):
        logits, _ = cmodel(tok, pos, cache=cache)
        probs = F.softmax(logits[:, -1] / temperature, dim=-1)
        sp, si = probs.sort(descending=True)
        sp[sp.cumsum(-1) - sp > top_p] = 0
        tok = si.gather(-1, torch.multinomial(sp / sp.sum(-1, keepdim=True), 1))
        out.append(tok)
        pos = pos[-1:] + 1
    return torch.cat(out, 1)


model.eval()
print(generate(data[:2, :4], 6).tolist())
