import re
from dataclasses import dataclass, field, replace, asdict
from enum import Enum, auto
from typing import Any, List, Optional, Sequence, Tuple, Union, Mapping
import torch
from torch import nn
import torch.nn.functional as F


class AttentionType(Enum):
    GLOBAL = 1
    LOCAL_SLIDING = 2


@dataclass(frozen=True)
class GemmaConfig:
    vocab_size: int = 50
    max_position_embeddings: int = 16
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    hidden_size: int = 16
    intermediate_size: int = 32
    head_dim: int = 4
    rms_norm_eps: float = 1e-6
    attn_types: Optional[Sequence[AttentionType]] = (AttentionType.LOCAL_SLIDING, AttentionType.GLOBAL)
    sliding_window_size: Optional[int] = 4
    final_logit_softcapping: Optional[float] = 30.0
    attn_logit_softcapping: Optional[float] = 50.0
    query_pre_attn_scalar: Optional[int] = 4
    rope_theta: float = 10000


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0) -> torch.Tensor:
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[:(dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device)
    freqs = torch.outer(t, freqs).float()
    freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
    return freqs_cis


def apply_rotary_emb(x: torch.Tensor, freqs_cis: torch.Tensor) -> torch.Tensor:
    x_ = torch.view_as_complex(torch.stack(torch.chunk(x.transpose(1, 2).float(), 2, dim=-1), dim=-1))
    x_out = torch.view_as_real(x_ * freqs_cis).type_as(x)
    x_out = torch.cat(torch.chunk(x_out, 2, dim=-1), dim=-2)
    x_out = x_out.reshape(x_out.shape[0], x_out.shape[1], x_out.shape[2], -1).transpose(1, 2)
    return x_out


class RMSNorm(torch.nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6, add_unit_offset: bool = True):
        super().__init__()
        self.eps = eps
        self.add_unit_offset = add_unit_offset
        self.weight = nn.Parameter(torch.zeros(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float())
        if self.add_unit_offset:
            output = output * (1 + self.weight.float())
        else:
            output = output * self.weight.float()
        return output.type_as(x)


class GemmaMLP(nn.Module):
    def __init__(self, hidden_size, intermediate_size):
        super().__init__()
        self.gate_proj = nn.Linear(hidden_size, intermediate_size)
        self.up_proj = nn.Linear(hidden_size, intermediate_size)
        self.down_proj = nn.Linear(intermediate_size, hidden_size)

    def forward(self, x):
        gate = self.gate_proj(x)
        gate = F.gelu(gate, approximate="tanh")
        up = self.up_proj(x)
        fuse = gate * up
        outputs = self.down_proj(fuse)
        return outputs


class GemmaAttention(nn.Module):
    def __init__(self, config: GemmaConfig, attn_type: AttentionType):
        super().__init__()
        self.num_heads = config.num_attention_heads
        self.num_kv_heads = config.num_key_value_heads
        assert self.num_heads % self.num_kv_heads == 0
        self.num_queries_per_kv = self.num_heads // self.num_kv_heads
        self.hidden_size = config.hidden_size
        self.head_dim = config.head_dim
        self.q_size = self.num_heads * self.head_dim
        self.kv_size = self.num_kv_heads * self.head_dim
        self.scaling = config.query_pre_attn_scalar ** -0.5
        self.qkv_proj = nn.Linear(self.hidden_size, (self.num_heads + 2 * self.num_kv_heads) * self.head_dim)
        self.o_proj = nn.Linear(self.num_heads * self.head_dim, self.hidden_size)
        self.attn_type = attn_type
        self.sliding_window_size = config.sliding_window_size
        self.attn_logit_softcapping = config.attn_logit_softcapping

    def forward(self, hidden_states, freqs_cis, kv_write_indices, kv_cache, mask):
        hidden_states_shape = hidden_states.shape
        assert len(hidden_states_shape) == 3
        batch_size, input_len, _ = hidden_states_shape
        qkv = self.qkv_proj(hidden_states)
        xq, xk, xv = qkv.split([self.q_size, self.kv_size, self.kv_size], dim=-1)
        xq = xq.view(batch_size, -1, self.num_heads, self.head_dim)
        xk = xk.view(batch_size, -1, self.num_kv_heads, self.head_dim)
        xv = xv.view(batch_size, -1, self.num_kv_heads, self.head_dim)
        xq = apply_rotary_emb(xq, freqs_cis=freqs_cis)
        xk = apply_rotary_emb(xk, freqs_cis=freqs_cis)
        k_cache, v_cache = kv_cache
        k_cache.index_copy_(1, kv_write_indices, xk)
        v_cache.index_copy_(1, kv_write_indices, xv)
        key, value = k_cache, v_cache
        if self.num_kv_heads != self.num_heads:
            key = torch.repeat_interleave(key, self.num_queries_per_kv, dim=2)
            value = torch.repeat_interleave(value, self.num_queries_per_kv, dim=2)
        q = xq.transpose(1, 2)
        k = key.transpose(1, 2)
        v = value.transpose(1, 2)
        q.mul_(self.scaling)
        scores = torch.matmul(q, k.transpose(2, 3))
        if self.attn_type == AttentionType.LOCAL_SLIDING and self.sliding_window_size is not None:
            all_ones = torch.ones_like(mask)
            sliding_mask = torch.triu(all_ones, -1 * self.sliding_window_size + 1) * torch.tril(all_ones, self.sliding_window_size - 1)
            mask = torch.where(sliding_mask == 1, mask, -2.3819763e38)
        if self.attn_logit_softcapping is not None:
            scores = scores / self.attn_logit_softcapping
            scores = torch.tanh(scores)
            scores = scores * self.attn_logit_softcapping
        scores = scores + mask
        scores = F.softmax(scores.float(), dim=-1).type_as(q)
        output = torch.matmul(scores, v)
        output = output.transpose(1, 2).contiguous().view(batch_size, input_len, -1)
        output = self.o_proj(output)
        return output


class Gemma2DecoderLayer(nn.Module):
    def __init__(self, config, attn_type):
        super().__init__()
        self.self_attn = GemmaAttention(config, attn_type)
        self.mlp = GemmaMLP(config.hidden_size, config.intermediate_size)
        for n in ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"):
            setattr(self, n, RMSNorm(config.hidden_size, eps=config.rms_norm_eps))

    def forward(self, hidden_states, freqs_cis, kv_write_indices, kv_cache, mask):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states=hidden_states, freqs_cis=freqs_cis, kv_write_indices=kv_write_indices, kv_cache=kv_cache, mask=mask)
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.pre_feedforward_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        hidden_states = self.post_feedforward_layernorm(hidden_states)
        return residual + hidden_states


class GemmaForCausalLM(nn.Module):
    def __init__(self, config: GemmaConfig):
        super().__init__()
        self.config = config
        self.embedder = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([Gemma2DecoderLayer(config, config.attn_types[i % len(config.attn_types)]) for i in range(config.num_hidden_layers)])
        self.norm = RMSNorm(config.hidden_size)
        self.register_buffer('freqs_cis', precompute_freqs_cis(config.head_dim, config.max_position_embeddings * 2, theta=config.rope_theta))

    def forward(self, input_token_ids, input_positions, kv_caches, mask, output_positions, temperatures, top_ps, top_ks):
        freqs_cis = self.freqs_cis.index_select(0, input_positions)
        hidden_states = self.embedder(input_token_ids)
        normalizer = torch.tensor(self.config.hidden_size ** 0.5, dtype=hidden_states.dtype)
        hidden_states = hidden_states * normalizer
        for layer, kv in zip(self.layers, kv_caches):
            hidden_states = layer(hidden_states, freqs_cis, input_positions, kv, mask)
        hidden_states = self.norm(hidden_states)
        hidden_states = hidden_states.index_select(1, output_positions).squeeze(dim=1)
        logits = torch.matmul(hidden_states, self.embedder.weight.t())
        if self.config.final_logit_softcapping is not None:
            logits = logits / self.config.final_logit_softcapping
            logits = torch.tanh(logits)
            logits = logits * self.config.final_logit_softcapping
        if temperatures is None:
            return torch.argmax(logits, dim=-1).squeeze(dim=-1), logits
        logits.div_(temperatures.unsqueeze(dim=1))
        probs = torch.softmax(logits, dim=-1, dtype=torch.float)
        probs_sort, probs_idx = torch.sort(probs, dim=-1, descending=True)
        probs_sum = torch.cumsum(probs_sort, dim=-1)
        top_ps_mask = (probs_sum - probs_sort) > top_ps.unsqueeze(dim=1)
        probs_sort = torch.where(top_ps_mask, 0, probs_sort)
        top_ks_mask = torch.arange(probs_idx.shape[-1], device=probs_idx.device)
        top_ks_mask = top_ks_mask.expand(probs_idx.shape[0], -1)
        top_ks_mask = top_ks_mask >= top_ks.unsqueeze(dim=1)
        probs_sort = torch.where(top_ks_mask, 0, probs_sort)
        probs_sort.div_(probs_sort.sum(dim=-1, keepdim=True))
        probs = torch.gather(probs_sort, dim=-1, index=torch.argsort(probs_idx, dim=-1))
        return torch.multinomial(probs, num_samples=1, replacement=True).squeeze(dim=-1), logits


torch.manual_seed(0)
cfg = GemmaConfig()
model = GemmaForCausalLM(cfg).eval()
for p in model.parameters():
    if p.dim() > 1:
        nn.init.normal_(p, std=0.1)
print(replace(cfg, num_hidden_layers=1) == cfg, asdict(cfg)["attn_types"][0], AttentionType.GLOBAL.name)
L = 10
caches = [(torch.zeros(2, L, cfg.num_key_value_heads, cfg.head_dim), torch.zeros(2, L, cfg.num_key_value_heads, cfg.head_dim)) for _ in range(cfg.num_hidden_layers)]
mask_tensor = torch.full((1, 1, L, L), -2.3819763e38).float()
mask_tensor = torch.triu(mask_tensor, diagonal=1)
tokens = torch.randint(0, 50, (2, 4))
pos = torch.arange(0, 4)
cmodel = torch.compile(model)
with torch.no_grad():
    inp, positions = tokens, pos
    for i in range(4):
        nxt, logits = cmodel(inp, positions, caches, mask_tensor.index_select(2, positions), torch.tensor([inp.shape[1] - 1]), torch.tensor([0.9, 0.7]) if i else None,
                             torch.tensor([0.95, 0.9]), torch.tensor([20, 10]))
        print(i, nxt.tolist(), f"{logits.abs().max().item():.4f}")
        inp, positions = nxt.unsqueeze(1), positions[-1:] + 1
