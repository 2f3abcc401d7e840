"""Linear attention variants: RetNet-free gated linear attention, DeltaNet (recurrent and chunkwise), Mamba-2's SSD, HGRN; parity checks."""
from __future__ import annotations
import math
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

torch.manual_seed(0)
torch.set_printoptions(precision=3, sci_mode=False)


def segsum(x: Tensor) -> Tensor:
    T = x.size(-1)
    x = x[..., None].repeat(1, 1, 1, 1, T) if x.ndim == 4 else x[..., None].expand(*x.shape, T)
    mask = torch.tril(torch.ones(T, T, dtype=torch.bool, device=x.device), diagonal=-1)
    x = x.masked_fill(~mask, 0)
    x_segsum = torch.cumsum(x, dim=-2)
    mask = torch.tril(torch.ones(T, T, dtype=torch.bool, device=x.device), diagonal=0)
    return x_segsum.masked_fill(~mask, -torch.inf)


def ssd(x, A, B, C, block_len=4):
    b, l, h, p = x.shape
    c = l // block_len
    x, B, C = (t.reshape(b, c, block_len, *t.shape[2:]) for t in (x, B, C))
    A = A.reshape(b, c, block_len, h).permute(0, 3, 1, 2)
    A_cumsum = torch.cumsum(A, dim=-1)
    L = torch.exp(segsum(A))
    Y_diag = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", C, B, L, x)
    decay_states = torch.exp((A_cumsum[:, :, :, -1:] - A_cumsum))
    states = torch.einsum("bclhn,bhcl,bclhp->bchpn", B, decay_states, x)
    initial_states = torch.zeros_like(states[:, :1])
    states = torch.cat([initial_states, states], dim=1)
    decay_chunk = torch.exp(segsum(F.pad(A_cumsum[:, :, :, -1], (1, 0))))
    new_states = torch.einsum("bhzc,bchpn->bzhpn", decay_chunk, states)
    states, final_state = new_states[:, :-1], new_states[:, -1]
    state_decay_out = torch.exp(A_cumsum)
    Y_off = torch.einsum("bclhn,bchpn,bhcl->bclhp", C, states, state_decay_out)
    return (Y_diag + Y_off).reshape(b, l, h, p), final_state


def ssd_recurrent(x, A, B, C):
    b, l, h, p = x.shape
    S = x.new_zeros(b, h, p, B.size(-1))
    out = []
    for t in range(l):
        S = S * A[:, t].exp()[..., None, None] + x[:, t].unsqueeze(-1) * B[:, t].unsqueeze(-2)
        out.append((S * C[:, t].unsqueeze(-2)).sum(-1))
    return torch.stack(out, 1), S


def delta_rule_recurrent(q, k, v, beta):
    b, h, l, d_k = q.shape
    o = torch.zeros_like(v)
    S = torch.zeros(b, h, d_k, v.shape[-1]).to(v)
    q = q * (d_k ** -0.5)
    if beta.ndim < v.ndim:
        beta = beta[..., None]
    for i in range(l):
        _k, _q, _v = k[:, :, i], q[:, :, i], v[:, :, i].clone()
        _v = _v - (S.clone() * _k[..., None]).sum(-2)
        _v = _v * beta[:, :, i]
        S = S.clone() + _k.unsqueeze(-1) * _v.unsqueeze(-2)
        o[:, :, i] = torch.einsum("bhd,bhdm->bhm", _q, S)
    return o, S


def delta_rule_chunkwise(q, k, v, beta, chunk_size=4):
    b, h, l, d_k = q.shape
    q = q * (d_k ** -0.5)
    v = v * beta[..., None]
    k_beta = k * beta[..., None]
    mask = torch.triu(torch.ones(chunk_size, chunk_size, dtype=torch.bool, device=q.device), diagonal=0)
    q, k, v, k_beta = map(lambda x: x.unflatten(2, (-1, chunk_size)), [q, k, v, k_beta])
    attn = -(k_beta @ k.transpose(-1, -2)).masked_fill(mask, 0)
    for i in range(1, chunk_size):
        attn[..., i, :i] = attn[..., i, :i] + (attn[..., i, :, None].clone() * attn[..., :, :i].clone()).sum(-2)
    attn = attn + torch.eye(chunk_size, dtype=torch.float, device=q.device)
    u = attn @ v
    w = attn @ k_beta
    S = k.new_zeros(b, h, d_k, v.shape[-1])
    o = torch.zeros_like(v)
    mask = torch.triu(torch.ones(chunk_size, chunk_size, dtype=torch.bool), diagonal=1)
    for i in range(0, l // chunk_size):
        q_i, k_i = q[:, :, i], k[:, :, i]
        attn = (q_i @ k_i.transpose(-1, -2)).masked_fill_(mask, 0)
        u_i = u[:, :, i] - w[:, :, i] @ S
        o[:, :, i] = q_i @ S + attn @ u_i
        S = S + k_i.transpose(-1, -2) @ u_i
    return o.flatten(2, 3), S


@dataclass
class GLAConfig:
    dim: int = 16
    heads: int = 2
    vocab: int = 11
    layers: int = 2
    gate_logit_normalizer: int = 16


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


class GatedLinearAttention(nn.Module):
    def __init__(self, cfg: GLAConfig):
        super().__init__()
        self.cfg, self.head_dim = cfg, cfg.dim // cfg.heads
        self.q_proj, self.k_proj, self.v_proj, self.g_proj = (nn.Linear(cfg.dim, cfg.dim, bias=False) for _ in range(4))
        self.gk_proj = nn.Sequential(nn.Linear(cfg.dim, 4, bias=False), nn.Linear(4, cfg.dim, bias=True))
        self.norm, self.o_proj = RMSNorm(self.head_dim), nn.Linear(cfg.dim, cfg.dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        split = lambda t: t.view(B, T, self.cfg.heads, self.head_dim).transpose(1, 2)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        gk = split(F.logsigmoid(self.gk_proj(x)) / self.cfg.gate_logit_normalizer)
        G = gk.cumsum(-2)
        attn = (q * G.exp() * self.head_dim ** -0.5) @ (k * (-G).exp()).mT
        attn = attn.tril()
        o = self.norm((attn @ v).transpose(1, 2)).flatten(2)
        return self.o_proj(o * F.silu(self.g_proj(x)))


class HGRN(nn.Module):
    def __init__(self, dim: int, lower: float = 0.3):
        super().__init__()
        self.i, self.f, self.g = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.lower = lower

    def forward(self, x: Tensor) -> Tensor:
        f = self.lower + (1 - self.lower) * self.f(x).sigmoid()
        i = F.silu(self.i(x)) * (1 - f)
        h, hs = torch.zeros_like(x[:, 0]), []
        for ft, it in zip(f.unbind(1), i.unbind(1)):
            h = torch.addcmul(it, ft, h)
            hs.append(h)
        return torch.stack(hs, dim=1) * self.g(x).tanh()


class Block(nn.Module):
    def __init__(self, cfg: GLAConfig, kind: str):
        super().__init__()
        self.n1, self.n2 = RMSNorm(cfg.dim), RMSNorm(cfg.dim)
        self.mix = {"gla": lambda: GatedLinearAttention(cfg), "hgrn": lambda: HGRN(cfg.dim)}[kind]()
        self.w12, self.w3 = nn.Linear(cfg.dim, 48, bias=False), nn.Linear(24, cfg.dim, bias=False)

    def forward(self, x):
        x = x + self.mix(self.n1(x))
        a, b = self.w12(self.n2(x)).chunk(2, -1)
        return x + self.w3(F.silu(a) * b)


class LM(nn.Module):
    def __init__(self, cfg: GLAConfig):
        super().__init__()
        self.emb = nn.Embedding(cfg.vocab, cfg.dim)
        self.blocks = nn.ModuleList([Block(cfg, "gla" if i % 2 == 0 else "hgrn") for i in range(cfg.layers)])
        self.norm, self.head = RMSNorm(cfg.dim), nn.Linear(cfg.dim, cfg.vocab, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, idx, targets=None):
        x = self.emb(idx)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


b, l, h, p, n = 2, 8, 2, 4, 3
x, A = torch.randn(b, l, h, p), -F.softplus(torch.randn(b, l, h))
B, C = torch.randn(b, l, h, n), torch.randn(b, l, h, n)
(y1, s1), (y2, s2) = torch.compile(ssd)(x, A, B, C), ssd_recurrent(x, A, B, C)
print("ssd", y1.shape, s1.shape, torch.allclose(y1, y2, atol=1e-5), torch.allclose(s1, s2, atol=1e-5))
q, k, v = (torch.randn(2, 2, 8, 4) for _ in range(3))
k, beta = F.normalize(k, p=2, dim=-1), torch.rand(2, 2, 8)
o1, S1 = delta_rule_recurrent(q, k, v, beta)
o2, S2 = torch.compile(delta_rule_chunkwise)(q, k, v, beta)
print("delta", o1.shape, torch.allclose(o1, o2, atol=1e-5), torch.allclose(S1, S2, atol=1e-5))
print(o2[0, 0])
cfg = GLAConfig()
model = LM(cfg)
print(model.blocks[1], sum(p.numel() for p in model.parameters()))
compiled = torch.compile(model, fullgraph=True)
opt = torch.optim.AdamW([{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
                         {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}], lr=1e-2, betas=(0.9, 0.95))
data = (torch.arange(40)[None] * torch.tensor([[1], [2], [3]])) % cfg.vocab
for it in range(5):
    _, loss = compiled(data[:, :-1], data[:, 1:].contiguous())
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(f"iter {it}: {loss.item():.4f}")
