import math
import torch
import torch.nn.functional as F
from torch import nn
from typing import Tuple, Optional


def lambda_init_fn(depth):
    return 0.8 - 0.6 * math.exp(-0.3 * depth)


def repeat_kv(x: torch.Tensor, n_rep: int) -> torch.Tensor:
    bs, n_kv_heads, slen, head_dim = x.shape
    if n_rep == 1:
        return x
    return x[:, :, None, :, :].expand(bs, n_kv_heads, n_rep, slen, head_dim).reshape(bs, n_kv_heads * n_rep, slen, head_dim)


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6, elementwise_affine=True):
        super().__init__()
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if self.elementwise_affine:
            self.weight = nn.Parameter(torch.ones(dim))
        else:
            self.register_parameter('weight', None)

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()).type_as(x)
        if self.weight is not None:
            output = output * self.weight
        return output


def rope(x, cos, sin):
    x1, x2 = x[..., ::2], x[..., 1::2]
    out = torch.empty_like(x)
    out[..., ::2] = x1 * cos - x2 * sin
    out[..., 1::2] = x1 * sin + x2 * cos
    return out


class MultiheadDiffAttn(nn.Module):
    def __init__(self, embed_dim, depth, num_heads, num_kv_heads=None):
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads if num_kv_heads is not None else num_heads
        self.n_rep = self.num_heads // self.num_kv_heads
        self.head_dim = embed_dim // num_heads // 2
        self.scaling = self.head_dim ** -0.5
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim // self.n_rep, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim // self.n_rep, bias=False)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.lambda_init = lambda_init_fn(depth)
        self.lambda_q1 = nn.Parameter(torch.zeros(self.head_dim, dtype=torch.float32).normal_(mean=0, std=0.1))
        self.lambda_k1 = nn.Parameter(torch.zeros(self.head_dim, dtype=torch.float32).normal_(mean=0, std=0.1))
        self.lambda_q2 = nn.Parameter(torch.zeros(self.head_dim, dtype=torch.float32).normal_(mean=0, std=0.1))
        self.lambda_k2 = nn.Parameter(torch.zeros(self.head_dim, dtype=torch.float32).normal_(mean=0, std=0.1))
        self.subln = RMSNorm(2 * self.head_dim, eps=1e-5, elementwise_affine=True)

    def forward(self, x, rel_pos, attn_mask=None):
        bsz, tgt_len, embed_dim = x.size()
        src_len = tgt_len
        q = self.q_proj(x)
        k = self.k_proj(x)
        v = self.v_proj(x)
        q = q.view(bsz, tgt_len, 2 * self.num_heads, self.head_dim)
        k = k.view(bsz, src_len, 2 * self.num_kv_heads, self.head_dim)
        v = v.view(bsz, src_len, self.num_kv_heads, 2 * self.head_dim)
        q = rope(q, *rel_pos)
        k = rope(k, *rel_pos)
        offset = src_len - tgt_len
        q = q.transpose(1, 2)
        k = repeat_kv(k.transpose(1, 2), self.n_rep)
        v = repeat_kv(v.transpose(1, 2), self.n_rep)
        q *= self.scaling
        attn_weights = torch.matmul(q, k.transpose(-1, -2))
        if attn_mask is None:
            attn_mask = torch.triu(torch.zeros([tgt_len, src_len]).float().fill_(float("-inf")).type_as(attn_weights), 1 + offset)
        attn_weights = torch.nan_to_num(attn_weights)
        attn_weights += attn_mask
        attn_weights = F.softmax(attn_weights, dim=-1, dtype=torch.float32).type_as(attn_weights)
        lambda_1 = torch.exp(torch.sum(self.lambda_q1 * self.lambda_k1, dim=-1).float()).type_as(q)
        lambda_2 = torch.exp(torch.sum(self.lambda_q2 * self.lambda_k2, dim=-1).float()).type_as(q)
        lambda_full = lambda_1 - lambda_2 + self.lambda_init
        attn_weights = attn_weights.view(bsz, self.num_heads, 2, tgt_len, src_len)
        attn_weights = attn_weights[:, :, 0] - lambda_full * attn_weights[:, :, 1]
        attn = torch.matmul(attn_weights, v)
        attn = self.subln(attn)
        attn = attn * (1 - self.lambda_init)
        attn = attn.transpose(1, 2).reshape(bsz, tgt_len, self.num_heads * 2 * self.head_dim)
        return self.out_proj(attn)


class nGPTBlock(nn.Module):
    """normalized transformer: everything on the sphere, with learned step sizes"""

    def __init__(self, d, base_scale):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.o = nn.Linear(d, d, bias=False)
        self.up = nn.Linear(d, 4 * d, bias=False)
        self.down = nn.Linear(2 * d, d, bias=False)
        self.attn_alpha_init_value, self.attn_alpha_init_scaling = 0.05, base_scale
        self.attn_alpha = nn.Parameter(self.attn_alpha_init_scaling * torch.ones(d))
        self.mlp_alpha = nn.Parameter(self.attn_alpha_init_scaling * torch.ones(d))
        self.sqk = nn.Parameter(base_scale * torch.ones(d))
        self.suv = nn.Parameter(torch.ones(4 * d))
        self.d = d

    @staticmethod
    def justnorm(x, idim=-1):
        dtype = x.dtype
        x = x.float()
        return (x / x.norm(p=2, dim=idim, keepdim=True)).to(dtype=dtype)

    def step(self, h, new, alpha):
        lr = torch.abs(alpha * (self.attn_alpha_init_value / self.attn_alpha_init_scaling))
        A, B = self.justnorm(h), self.justnorm(new)
        return self.justnorm(A + lr * (B - A))

    def forward(self, h):
        b, t, c = h.shape
        q, k, v = (y.view(b, t, 2, -1).transpose(1, 2) for y in self.qkv(h).split(self.d, -1))
        sqk = (self.sqk * (1.0 / self.attn_alpha_init_scaling)).view(1, 2, 1, -1)
        q, k = sqk * self.justnorm(q), sqk * self.justnorm(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=math.sqrt(c / 2))
        h = self.step(h, self.o(y.transpose(1, 2).contiguous().view(b, t, c)), self.attn_alpha)
        uv = self.suv * (c ** 0.5) * self.up(h)
        u, g = torch.chunk(uv, 2, dim=-1)
        return self.step(h, self.down(u * F.silu(g)), self.mlp_alpha)


torch.manual_seed(0)
x = torch.randn(2, 5, 16)
inv = 1.0 / 10000 ** (torch.arange(0, 4, 2) / 4)
ang = torch.outer(torch.arange(5), inv)[None, :, None]
attn = MultiheadDiffAttn(16, 3, 2, 1)
ca = torch.compile(attn)
opt = torch.optim.Adadelta(attn.parameters(), lr=0.5)
for i in range(3):
    y = ca(x, (ang.cos(), ang.sin()))
    loss = (y - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, f"{loss.item():.5f}", f"{attn.lambda_q1.grad.norm().item():.3e}")
blk = nGPTBlock(16, 1 / 16 ** 0.5)
cb = torch.compile(blk)
h = F.normalize(x, dim=-1)
opt = torch.optim.Adam(blk.parameters(), lr=1e-2)
for i in range(2):
    out = cb(h)
    loss = 1 - F.cosine_similarity(out, x.flip(1), dim=-1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for n in ("qkv", "o", "up", "down"):
            w = getattr(blk, n).weight
            w.copy_(blk.justnorm(w, 0 if n in ("o", "down") else 1))
    print(i, f"{loss.item():.5f}", out.norm(dim=-1)[0, :2])
