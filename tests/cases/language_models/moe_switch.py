"""Switch transformer layer, expert choice and soft MoE, trained on a toy copy task."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class SwitchFFN(nn.Module):
    def __init__(self, d, hidden, n_experts, capacity_factor=1.25):
        super().__init__()
        self.router = nn.Linear(d, n_experts, bias=False)
        self.w1 = nn.Parameter(torch.randn(n_experts, d, hidden) / math.sqrt(d))
        self.w2 = nn.Parameter(torch.randn(n_experts, hidden, d) / math.sqrt(hidden))
        self.n_experts, self.capacity_factor = n_experts, capacity_factor

    def forward(self, x):
        b, t, d = x.shape
        flat = x.reshape(-1, d)
        n = flat.size(0)
        probs = self.router(flat).softmax(-1)
        gate, expert = probs.max(-1)
        onehot = F.one_hot(expert, self.n_experts)
        position = (onehot.cumsum(0) - 1) * onehot
        capacity = int(math.ceil(n / self.n_experts * self.capacity_factor))
        keep = (position < capacity) & onehot.bool()
        slot = F.one_hot(position.clamp(max=capacity - 1), capacity) * keep.unsqueeze(-1)
        dispatch = slot.to(x.dtype)
        inp = torch.einsum("nec,nd->ecd", dispatch, flat)
        h = torch.relu(torch.einsum("ecd,edh->ech", inp, self.w1))
        out = torch.einsum("ech,ehd->ecd", h, self.w2)
        combined = torch.einsum("nec,ecd->nd", dispatch * gate[:, None, None], out)
        load = onehot.float().mean(0)
        aux = self.n_experts * (load * probs.mean(0)).sum()
        return combined.view(b, t, d), aux, keep.sum()


class ExpertChoice(nn.Module):
    def __init__(self, d, n_experts, k):
        super().__init__()
        self.router = nn.Linear(d, n_experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(n_experts))
        self.k = k

    def forward(self, x):
        shape = x.shape
        x = x.flatten(0, 1)
        scores = self.router(x).softmax(-1).t()
        g, idx = scores.topk(self.k, dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            out.index_add_(0, idx[e], expert(x[idx[e]]) * g[e].unsqueeze(-1))
        return out.view(shape)


class SoftMoE(nn.Module):
    def __init__(self, d, n_experts, slots):
        super().__init__()
        self.phi = nn.Parameter(torch.randn(d, n_experts, slots) * d ** -0.5)
        self.scale = nn.Parameter(torch.ones(1))
        self.w = nn.Parameter(torch.randn(n_experts, d, d) * d ** -0.5)

    def forward(self, x):
        logits = torch.einsum("btd,des->btes", F.normalize(x, dim=-1), self.scale * F.normalize(self.phi, dim=0))
        dispatch = logits.softmax(1)
        combine = logits.flatten(2).softmax(-1).view_as(logits)
        slots = torch.einsum("btes,btd->besd", dispatch, x)
        out = F.gelu(torch.einsum("besd,edf->besf", slots, self.w), approximate="tanh")
        return torch.einsum("btes,besf->btf", combine, out)


class Block(nn.Module):
    def __init__(self, d, kind):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.RMSNorm(d)
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True, bias=False)
        self.kind = kind
        self.ffn = {"switch": lambda: SwitchFFN(d, 2 * d, 4), "choice": lambda: ExpertChoice(d, 3, 4), "soft": lambda: SoftMoE(d, 2, 3)}[kind]()

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False, is_causal=True)[0]
        y = self.ffn(self.ln2(x))
        if isinstance(y, tuple):
            y, aux, kept = y
        else:
            aux, kept = x.new_zeros(()), None
        return x + y, aux, kept


class Model(nn.Module):
    def __init__(self, vocab=16, d=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(Block(d, k) for k in ("switch", "choice", "soft"))
        self.out = nn.Linear(d, vocab)
        self.register_buffer("mask", torch.triu(torch.full((8, 8), float("-inf")), 1), persistent=False)

    def forward(self, idx, use_ckpt=False):
        x = self.emb(idx)
        aux_total = 0.0
        kept = []
        for blk in self.blocks:
            if use_ckpt:
                x, aux, k = checkpoint(blk, x, self.mask, use_reentrant=False)
            else:
                x, aux, k = blk(x, self.mask)
            aux_total = aux_total + aux
            if k is not None:
                kept.append(k)
        return self.out(x), aux_total, torch.stack(kept)


torch.manual_seed(0)
model = Model()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
compiled = torch.compile(model)
data = torch.randint(0, 16, (3, 9))
for step in range(4):
    logits, aux, kept = compiled(data[:, :-1], use_ckpt=step >= 2)
    ce = F.cross_entropy(logits.flatten(0, 1), data[:, 1:].flatten())
    loss = ce + 0.01 * aux
    opt.zero_grad(set_to_none=True)
    loss.backward()
    gn = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    print(step, f"{ce.item():.5f} {aux.item():.5f} {gn.item():.5f}", kept.tolist())
