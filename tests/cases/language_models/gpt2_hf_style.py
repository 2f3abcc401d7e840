"""GPT-2 in the manner of Hugging Face: Conv1D, past key values, ModelOutput classes, config objects, generation with top-k, top-p and beams."""
import json
import logging
import math
import sys
import warnings
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any, Optional, Tuple, Union

import torch
from torch import nn
from torch.nn import CrossEntropyLoss

logger = logging.getLogger("gpt2")
logger.addHandler(logging.StreamHandler(sys.stdout))
logger.setLevel(logging.INFO)


class ModelOutput(OrderedDict):
    def __post_init__(self):
        for f in fields(self):
            v = getattr(self, f.name)
            if v is not None:
                self[f.name] = v

    def __getitem__(self, k):
        if isinstance(k, str):
            return dict(self.items())[k]
        return self.to_tuple()[k]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self) -> Tuple[Any]:
        return tuple(self[k] for k in self.keys())


@dataclass
class CausalLMOutput(ModelOutput):
    loss: Optional[torch.FloatTensor] = None
    logits: torch.FloatTensor = None
    past_key_values: Optional[Tuple[Tuple[torch.FloatTensor]]] = None
    hidden_states: Optional[Tuple[torch.FloatTensor]] = None


class GPT2Config:
    model_type = "gpt2"
    attribute_map = {"hidden_size": "n_embd"}

    def __init__(self, vocab_size=37, n_positions=24, n_embd=24, n_layer=2, n_head=3, activation_function="gelu_new", resid_pdrop=0.0, layer_norm_epsilon=1e-5, initializer_range=0.02, use_cache=True, **kwargs):
        self.vocab_size, self.n_positions, self.n_embd, self.n_layer, self.n_head = vocab_size, n_positions, n_embd, n_layer, n_head
        self.activation_function, self.resid_pdrop = activation_function, resid_pdrop
        self.layer_norm_epsilon, self.initializer_range, self.use_cache = layer_norm_epsilon, initializer_range, use_cache
        for k, v in kwargs.items():
            setattr(self, k, v)

    def __getattribute__(self, key):
        if key != "attribute_map" and key in super().__getattribute__("attribute_map"):
            key = super().__getattribute__("attribute_map")[key]
        return super().__getattribute__(key)

    def to_json_string(self):
        return json.dumps(self.__dict__, sort_keys=True)


class Conv1D(nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.nf = nf
        self.weight = nn.Parameter(torch.empty(nx, nf))
        self.bias = nn.Parameter(torch.zeros(nf))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x):
        size_out = x.size()[:-1] + (self.nf,)
        x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return x.view(size_out)


class NewGELUActivation(nn.Module):
    def forward(self, input):
        return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * torch.pow(input, 3.0))))


ACT2FN = {"gelu_new": NewGELUActivation(), "relu": nn.ReLU()}


class GPT2Attention(nn.Module):
    def __init__(self, config, layer_idx=None):
        super().__init__()
        max_positions = config.n_positions
        self.register_buffer("bias", torch.tril(torch.ones((max_positions, max_positions), dtype=torch.bool)).view(1, 1, max_positions, max_positions), persistent=False)
        self.embed_dim, self.num_heads = config.hidden_size, config.n_head
        self.head_dim = self.embed_dim // self.num_heads
        self.split_size = self.embed_dim
        if self.head_dim * self.num_heads != self.embed_dim:
            raise ValueError(f"`embed_dim` must be divisible by num_heads (got {self.embed_dim} and {self.num_heads}).")
        self.layer_idx = layer_idx
        self.c_attn, self.c_proj = Conv1D(3 * self.embed_dim, self.embed_dim), Conv1D(self.embed_dim, self.embed_dim)
        self.resid_dropout = nn.Dropout(config.resid_pdrop)

    def _attn(self, query, key, value, attention_mask=None):
        attn_weights = torch.matmul(query, key.transpose(-1, -2))
        attn_weights = attn_weights / torch.full([], value.size(-1) ** 0.5, dtype=attn_weights.dtype, device=attn_weights.device)
        query_length, key_length = query.size(-2), key.size(-2)
        causal_mask = self.bias[:, :, key_length - query_length : key_length, :key_length]
        mask_value = torch.finfo(attn_weights.dtype).min
        mask_value = torch.full([], mask_value, dtype=attn_weights.dtype, device=attn_weights.device)
        attn_weights = torch.where(causal_mask, attn_weights.to(attn_weights.dtype), mask_value)
        if attention_mask is not None:
            attn_weights = attn_weights + attention_mask
        attn_weights = nn.functional.softmax(attn_weights, dim=-1).type(value.dtype)
        return torch.matmul(attn_weights, value), attn_weights

    def _split_heads(self, tensor, num_heads, attn_head_size):
        new_shape = tensor.size()[:-1] + (num_heads, attn_head_size)
        return tensor.view(new_shape).permute(0, 2, 1, 3)

    def _merge_heads(self, tensor, num_heads, attn_head_size):
        tensor = tensor.permute(0, 2, 1, 3).contiguous()
        return tensor.view(tensor.size()[:-2] + (num_heads * attn_head_size,))

    def forward(self, hidden_states, layer_past=None, attention_mask=None, use_cache=False):
        query, key, value = self.c_attn(hidden_states).split(self.split_size, dim=2)
        query, key, value = (self._split_heads(t, self.num_heads, self.head_dim) for t in (query, key, value))
        if layer_past is not None:
            past_key, past_value = layer_past
            key, value = torch.cat((past_key, key), dim=-2), torch.cat((past_value, value), dim=-2)
        present = (key, value) if use_cache is True else None
        out, _ = self._attn(query, key, value, attention_mask)
        return self.resid_dropout(self.c_proj(self._merge_heads(out, self.num_heads, self.head_dim))), present


class GPT2Block(nn.Module):
    def __init__(self, config, layer_idx=None):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.attn = GPT2Attention(config, layer_idx=layer_idx)
        self.ln_2 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.mlp = nn.Sequential(OrderedDict(c_fc=Conv1D(4 * config.n_embd, config.n_embd), act=ACT2FN[config.activation_function], c_proj=Conv1D(config.n_embd, 4 * config.n_embd)))

    def forward(self, x, layer_past=None, attention_mask=None, use_cache=False):
        residual = x
        y, present = self.attn(self.ln_1(x), layer_past, attention_mask, use_cache)
        x = residual + y
        return x + self.mlp(self.ln_2(x)), present


class GPT2LMHeadModel(nn.Module):
    _tied_weights_keys = ["lm_head.weight"]

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(dict(wte=nn.Embedding(config.vocab_size, config.n_embd), wpe=nn.Embedding(config.n_positions, config.n_embd), h=nn.ModuleList([GPT2Block(config, i) for i in range(config.n_layer)]), ln_f=nn.LayerNorm(config.n_embd)))
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(self._init_weights)
        self.lm_head.weight = self.transformer.wte.weight

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding, Conv1D)):
            module.weight.data.normal_(mean=0.0, std=self.config.initializer_range)
            if getattr(module, "bias", None) is not None:
                module.bias.data.zero_()
        for name, p in module.named_parameters():
            if name == "c_proj.weight":
                p.data.normal_(mean=0.0, std=(self.config.initializer_range / math.sqrt(2 * self.config.n_layer)))

    @property
    def device(self):
        return next(self.parameters()).device

    def num_parameters(self, only_trainable=False):
        return sum(p.numel() for p in self.parameters() if p.requires_grad or not only_trainable)

    def forward(self, input_ids=None, past_key_values=None, attention_mask=None, labels=None, use_cache=None, output_hidden_states=False, return_dict=True) -> Union[Tuple, CausalLMOutput]:
        use_cache = use_cache if use_cache is not None else self.config.use_cache
        input_shape = input_ids.size()
        input_ids = input_ids.view(-1, input_shape[-1])
        if past_key_values is None:
            past_length = 0
            past_key_values = tuple([None] * len(self.transformer.h))
        else:
            past_length = past_key_values[0][0].size(-2)
        position_ids = torch.arange(past_length, input_shape[-1] + past_length, dtype=torch.long, device=input_ids.device).unsqueeze(0)
        if attention_mask is not None:
            attention_mask = attention_mask[:, None, None, :].to(dtype=torch.float32)
            attention_mask = (1.0 - attention_mask) * torch.finfo(torch.float32).min
        hidden = self.transformer.wte(input_ids) + self.transformer.wpe(position_ids)
        presents = () if use_cache else None
        all_hidden = () if output_hidden_states else None
        for block, layer_past in zip(self.transformer.h, past_key_values):
            if output_hidden_states:
                all_hidden = all_hidden + (hidden,)
            hidden, present = block(hidden, layer_past, attention_mask, use_cache)
            if use_cache:
                presents = presents + (present,)
        logits = self.lm_head(self.transformer.ln_f(hidden))
        loss = None
        if labels is not None:
            shift_logits = logits[..., :-1, :].contiguous()
            shift_labels = labels[..., 1:].contiguous()
            loss = CrossEntropyLoss()(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))
        if not return_dict:
            return tuple(v for v in (loss, logits, presents, all_hidden) if v is not None)
        return CausalLMOutput(loss=loss, logits=logits, past_key_values=presents, hidden_states=all_hidden)

    @torch.no_grad()
    def generate(self, input_ids, max_new_tokens=6, do_sample=False, top_k=0, top_p=1.0, temperature=1.0, repetition_penalty=1.0):
        past, ids = None, input_ids
        for _ in range(max_new_tokens):
            out = self(ids if past is None else ids[:, -1:], past_key_values=past, use_cache=True)
            past = out.past_key_values
            scores = out.logits[:, -1, :] / temperature
            if repetition_penalty != 1.0:
                score = torch.gather(scores, 1, ids)
                score = torch.where(score < 0, score * repetition_penalty, score / repetition_penalty)
                scores = scores.scatter(1, ids, score)
            if top_k > 0:
                scores = scores.masked_fill(scores < torch.topk(scores, top_k)[0][..., -1, None], -float("inf"))
            if top_p < 1.0:
                sorted_logits, sorted_indices = torch.sort(scores, descending=False)
                cumulative = sorted_logits.softmax(dim=-1).cumsum(dim=-1)
                remove = cumulative <= (1 - top_p)
                remove[..., -1:] = 0
                scores = scores.masked_fill(remove.scatter(1, sorted_indices, remove), -float("inf"))
            nxt = torch.multinomial(scores.softmax(-1), 1) if do_sample else scores.argmax(-1, keepdim=True)
            ids = torch.cat([ids, nxt], dim=-1)
        return ids

    @torch.no_grad()
    def beam_search(self, input_ids, num_beams=3, steps=4):
        seqs, scores = input_ids.repeat(num_beams, 1), torch.tensor([0.0] + [-1e9] * (num_beams - 1))
        for _ in range(steps):
            logp = self(seqs, use_cache=False).logits[:, -1].log_softmax(-1)
            total = (scores[:, None] + logp).view(-1)
            scores, idx = torch.topk(total, num_beams)
            beam, tok = torch.div(idx, logp.size(-1), rounding_mode="floor"), idx % logp.size(-1)
            seqs = torch.cat([seqs[beam], tok[:, None]], -1)
        return seqs, scores


torch.manual_seed(42)
config = GPT2Config(summary_type="cls_index")
logger.info(config.to_json_string())
model = GPT2LMHeadModel(config)
logger.info("%d parameters on %s", model.num_parameters(), model.device)
ids = torch.randint(0, config.vocab_size, (2, 10))
mask = torch.ones(2, 10)
mask[1, :3] = 0
compiled = torch.compile(model)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    out = compiled(input_ids=ids, attention_mask=mask, labels=ids, use_cache=False)
    out.loss.backward()
    opt.step()
    opt.zero_grad()
    print(step, f"{out.loss.item():.5f}", list(out.keys()), out[1].shape)
model.eval()
res = model(ids, output_hidden_states=True)
print(type(res).__name__, len(res.hidden_states), res.past_key_values[0][0].shape, isinstance(res, dict), res["logits"] is res.logits)
loss, logits = model(ids, labels=ids, use_cache=False, return_dict=False)
print(f"{loss.item():.5f}", tuple(logits.shape))
print(model.generate(ids[:, :4]).tolist())
torch.manual_seed(0)
print(model.generate(ids[:, :4], do_sample=True, top_k=8, top_p=0.9, temperature=0.8, repetition_penalty=1.2).tolist())
seqs, scores = model.beam_search(ids[:1, :4])
print(seqs.tolist(), [f"{s:.4f}" for s in scores.tolist()])
