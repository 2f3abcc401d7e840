"""A Mixtral-style sparse mixture of experts with sliding window attention and a load balancing loss."""
from dataclasses import dataclass, field
import logging
import sys

import torch
from torch import nn
import torch.nn.functional as F

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("mixtral")


@dataclass
class MoeArgs:
    num_experts: int = 4
    num_experts_per_tok: int = 2


@dataclass
class MixtralConfig:
    dim: int = 24
    n_layers: int = 2
    head_dim: int = 6
    hidden_dim: int = 40
    n_heads: int = 4
    n_kv_heads: int = 2
    sliding_window: int = 5
    vocab_size: int = 30
    moe: MoeArgs = field(default_factory=MoeArgs)

    def __post_init__(self):
        assert self.n_heads * self.head_dim == self.dim


class MoeLayer(nn.Module):
    def __init__(self, experts, gate, moe_args):
        super().__init__()
        assert len(experts) > 0
        self.experts = nn.ModuleList(experts)
        self.gate = gate
        self.args = moe_args

    def forward(self, inputs: torch.Tensor):
        squashed = inputs.view(-1, inputs.shape[-1])
        gate_logits = self.gate(squashed)
        weights, selected = torch.topk(gate_logits, self.args.num_experts_per_tok)
        weights = F.softmax(weights, dim=1, dtype=torch.float).type_as(inputs)
        results = torch.zeros_like(squashed)
        for i, expert in enumerate(self.experts):
            batch_idx, nth_expert = torch.where(selected == i)
            results[batch_idx] += weights[batch_idx, nth_expert, None] * expert(squashed[batch_idx])
        return results.view_as(inputs), gate_logits


class DenseMoe(MoeLayer):
    """All experts on all tokens, so that there is one graph."""

    def forward(self, inputs):
        x = inputs.view(-1, inputs.shape[-1])
        logits = self.gate(x)
        probs = F.softmax(logits, dim=-1)
        weights, selected = torch.topk(probs, self.args.num_experts_per_tok, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        mask = F.one_hot(selected, num_classes=self.args.num_experts).permute(2, 1, 0)
        out = torch.stack([e(x) for e in self.experts], dim=1)
        full = torch.zeros_like(probs).scatter(1, selected, weights)
        y = torch.einsum("ne,ned->nd", full, out)
        tokens_per_expert = mask.float().mean(dim=(1, 2))
        aux = (tokens_per_expert * probs.mean(0)).sum() * self.args.num_experts
        return y.view_as(inputs), aux


class FeedForward(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.w1 = nn.Linear(cfg.dim, cfg.hidden_dim, bias=False)
        self.w2 = nn.Linear(cfg.hidden_dim, cfg.dim, bias=False)
        self.w3 = nn.Linear(cfg.dim, cfg.hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.qkv = nn.Linear(cfg.dim, (cfg.n_heads + 2 * cfg.n_kv_heads) * cfg.head_dim, bias=False)
        self.o = nn.Linear(cfg.dim, cfg.dim, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        c = self.cfg
        q, k, v = self.qkv(x).split([c.n_heads * c.head_dim, c.n_kv_heads * c.head_dim, c.n_kv_heads * c.head_dim], dim=-1)
        q = q.view(b, t, c.n_heads, c.head_dim).transpose(1, 2)
        k = k.view(b, t, c.n_kv_heads, c.head_dim).transpose(1, 2).repeat_interleave(c.n_heads // c.n_kv_heads, dim=1)
        v = v.view(b, t, c.n_kv_heads, c.head_dim).transpose(1, 2).repeat_interleave(c.n_heads // c.n_kv_heads, dim=1)
        i = torch.arange(t)
        allowed = (i[:, None] >= i[None, :]) & (i[:, None] - i[None, :] < c.sliding_window)
        return self.o(F.scaled_dot_product_attention(q, k, v, attn_mask=allowed).transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self, cfg, moe_cls):
        super().__init__()
        self.attn, self.n1, self.n2 = Attention(cfg), nn.RMSNorm(cfg.dim), nn.RMSNorm(cfg.dim)
        self.moe = moe_cls([FeedForward(cfg) for _ in range(cfg.moe.num_experts)], nn.Linear(cfg.dim, cfg.moe.num_experts, bias=False), cfg.moe)

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        y, aux = self.moe(self.n2(x))
        return x + y, aux


class Mixtral(nn.Module):
    def __init__(self, cfg, moe_cls=MoeLayer):
        super().__init__()
        self.emb = nn.Embedding(cfg.vocab_size, cfg.dim)
        self.blocks = nn.ModuleDict({str(i): Block(cfg, moe_cls) for i in range(cfg.n_layers)})
        self.norm = nn.RMSNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.vocab_size, bias=False)

    def forward(self, ids):
        x, auxes = self.emb(ids), []
        for name, block in self.blocks.items():
            x, aux = block(x)
            auxes.append(aux)
        return self.head(self.norm(x)), auxes


def main():
    torch.manual_seed(0)
    cfg = MixtralConfig()
    log.info("%s", cfg)
    ids = torch.randint(cfg.vocab_size, (2, 9))
    for cls in (DenseMoe, MoeLayer):
        model = Mixtral(cfg, cls)
        log.info("%s with %d parameters", cls.__name__, sum(p.numel() for p in model.parameters()))
        run = torch.compile(model, backend="aot_eager") if cls is DenseMoe else model
        opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
        for step in range(3):
            logits, auxes = run(ids[:, :-1])
            ce = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            aux = sum(auxes) / len(auxes) if cls is DenseMoe else sum(torch.logsumexp(g, -1).pow(2).mean() for g in auxes)
            loss = ce + 0.01 * aux
            opt.zero_grad()
            loss.backward()
            opt.step()
            log.info("step %d ce %.4f aux %.4f", step, ce.item(), aux.item())
    expert = torch.compile(FeedForward(cfg), dynamic=True)
    for n in (3, 5, 8):
        print(n, f"{expert(torch.ones(n, cfg.dim)).sum().item():.5f}")


if __name__ == "__main__":
    main()
