"""Direct preference optimization of a small grouped-query transformer against a frozen reference; a reward model besides."""
import copy
import math
from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

import torch
from torch import nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Config:
    dim: int = 32
    n_heads: int = 4
    n_kv_heads: Optional[int] = 2
    n_layers: int = 2
    vocab_size: int = 40
    multiple_of: int = 8
    norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    max_seq_len: int = 16
    extras: Dict[str, float] = field(default_factory=dict)


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()).type_as(x)
        return output * self.weight


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2:]
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary_pos_emb(q, k, cos, sin):
    return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


def repeat_kv(x: torch.Tensor, n_rep: int) -> torch.Tensor:
    bs, n_kv_heads, slen, head_dim = x.shape
    if n_rep == 1:
        return x
    return x[:, :, None, :, :].expand(bs, n_kv_heads, n_rep, slen, head_dim).reshape(bs, n_kv_heads * n_rep, slen, head_dim)


class Attention(nn.Module):
    def __init__(self, args: Config):
        super().__init__()
        self.n_kv_heads = args.n_heads if args.n_kv_heads is None else args.n_kv_heads
        self.n_heads = args.n_heads
        self.n_rep = self.n_heads // self.n_kv_heads
        self.head_dim = args.dim // args.n_heads
        self.wq = nn.Linear(args.dim, args.n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(args.n_heads * self.head_dim, args.dim, bias=False)

    def forward(self, x, cos, sin, mask):
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).view(bsz, seqlen, self.n_heads, self.head_dim).transpose(1, 2)
        xk = self.wk(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim).transpose(1, 2)
        xv = self.wv(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim).transpose(1, 2)
        xq, xk = apply_rotary_pos_emb(xq, xk, cos, sin)
        keys, values = repeat_kv(xk, self.n_rep), repeat_kv(xv, self.n_rep)
        scores = torch.matmul(xq, keys.transpose(2, 3)) / math.sqrt(self.head_dim)
        scores = scores + mask
        scores = F.softmax(scores.float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, values)
        return self.wo(output.transpose(1, 2).contiguous().view(bsz, seqlen, -1))


class FeedForward(nn.Module):
    def __init__(self, dim: int, hidden_dim: int, multiple_of: int):
        super().__init__()
        hidden_dim = int(2 * hidden_dim / 3)
        hidden_dim = multiple_of * ((hidden_dim + multiple_of - 1) // multiple_of)
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class TransformerBlock(nn.Module):
    def __init__(self, layer_id: int, args: Config):
        super().__init__()
        self.attention = Attention(args)
        self.feed_forward = FeedForward(args.dim, 4 * args.dim, args.multiple_of)
        self.layer_id = layer_id
        self.attention_norm = RMSNorm(args.dim, eps=args.norm_eps)
        self.ffn_norm = RMSNorm(args.dim, eps=args.norm_eps)

    def forward(self, x, cos, sin, mask):
        h = x + self.attention(self.attention_norm(x), cos, sin, mask)
        return h + self.feed_forward(self.ffn_norm(h))


class Policy(nn.Module):
    def __init__(self, params: Config):
        super().__init__()
        self.params = params
        self.tok_embeddings = nn.Embedding(params.vocab_size, params.dim)
        self.layers = nn.ModuleList(TransformerBlock(i, params) for i in range(params.n_layers))
        self.norm = RMSNorm(params.dim, eps=params.norm_eps)
        self.output = nn.Linear(params.dim, params.vocab_size, bias=False)
        inv_freq = 1.0 / (params.rope_theta ** (torch.arange(0, params.dim // params.n_heads, 2).float() / (params.dim // params.n_heads)))
        freqs = torch.outer(torch.arange(params.max_seq_len, dtype=inv_freq.dtype), inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        self.register_buffer("cos_cached", emb.cos()[None, None], persistent=False)
        self.register_buffer("sin_cached", emb.sin()[None, None], persistent=False)

    def forward(self, tokens):
        _bsz, seqlen = tokens.shape
        h = self.tok_embeddings(tokens)
        cos, sin = self.cos_cached[:, :, :seqlen], self.sin_cached[:, :, :seqlen]
        mask = torch.full((seqlen, seqlen), float("-inf"), device=tokens.device)
        mask = torch.triu(mask, diagonal=1).type_as(h)
        for layer in self.layers:
            h = layer(h, cos, sin, mask)
        return self.output(self.norm(h)).float()


def get_batch_logps(logits, labels, average_log_prob: bool = False):
    labels = labels[:, 1:].clone()
    logits = logits[:, :-1, :]
    loss_mask = labels != -100
    labels[labels == -100] = 0
    per_token_logps = torch.gather(logits.log_softmax(-1), dim=2, index=labels.unsqueeze(2)).squeeze(2)
    if average_log_prob:
        return (per_token_logps * loss_mask).sum(-1) / loss_mask.sum(-1)
    return (per_token_logps * loss_mask).sum(-1)


def preference_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta: float, label_smoothing: float = 0.0, ipo: bool = False
                    ) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    logits = (policy_chosen - policy_rejected) - (ref_chosen - ref_rejected)
    if ipo:
        losses = (logits - 1 / (2 * beta)) ** 2
    else:
        losses = -F.logsigmoid(beta * logits) * (1 - label_smoothing) - F.logsigmoid(-beta * logits) * label_smoothing
    return losses, beta * (policy_chosen - ref_chosen).detach(), beta * (policy_rejected - ref_rejected).detach()


torch.manual_seed(0)
config = Config(extras={"beta": 0.1})
policy = Policy(config)
reference = copy.deepcopy(policy).eval().requires_grad_(False)
print(config)
print(sum(p.numel() for p in policy.parameters()), any(p.requires_grad for p in reference.parameters()), list(policy.state_dict())[-2:])

prompt = torch.randint(0, 40, (3, 4))
chosen = torch.cat([prompt, torch.randint(0, 40, (3, 5))], 1)
rejected = torch.cat([prompt, torch.randint(0, 40, (3, 5))], 1)
tokens = torch.cat([chosen, rejected])
labels = tokens.clone()
labels[:, :4] = -100
labels[1, -2:] = -100


@torch.compile
def logps(tokens, labels):
    return get_batch_logps(policy(tokens), labels)


optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lambda step: min(1.0, (step + 1) / 3))
with torch.no_grad():
    ref = get_batch_logps(reference(tokens), labels)
for step in range(4):
    got = logps(tokens, labels)
    losses, chosen_rewards, rejected_rewards = preference_loss(*got.chunk(2), *ref.chunk(2), beta=config.extras["beta"], ipo=step == 3)
    reward_accuracies = (chosen_rewards > rejected_rewards).float()
    optimizer.zero_grad()
    losses.mean().backward()
    grad_norm = nn.utils.clip_grad_norm_(policy.parameters(), 10.0).item()
    optimizer.step()
    scheduler.step()
    print(f"{step} loss {losses.mean().item():.4f} acc {reward_accuracies.mean().item():.2f} margin {(chosen_rewards - rejected_rewards).mean().item():.4f} grad {grad_norm:.3f}")


class RewardModel(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.base.output = nn.Identity()
        self.score = nn.Linear(config.dim, 1)

    def forward(self, tokens, lengths):
        h = self.base(tokens)
        return self.score(h[torch.arange(h.shape[0]), lengths - 1]).squeeze(-1)


rm = RewardModel(copy.deepcopy(reference))
for p in rm.base.layers[-1].parameters():
    p.requires_grad_(True)
trainable = [n for n, p in rm.named_parameters() if p.requires_grad]
print(len(trainable), trainable[0], trainable[-1])
lengths = torch.tensor([9, 7, 9, 9, 8, 9])
r = torch.compile(rm)(tokens, lengths)
loss = -F.logsigmoid(r[:3] - r[3:]).mean()
loss.backward()
print(f"{loss.item():.4f}", rm.base.tok_embeddings.weight.grad, f"{rm.score.weight.grad.norm():.4f}")
