import math
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser(description="tiny T5")
parser.add_argument("--d-model", type=int, default=32)
parser.add_argument("--heads", type=int, default=4)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--gated", action="store_true")
opt = parser.parse_args([])
print(opt)


class T5LayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        if self.weight.dtype in [torch.float16, torch.bfloat16]:
            hidden_states = hidden_states.to(self.weight.dtype)
        return self.weight * hidden_states


class T5Attention(nn.Module):
    def __init__(self, d_model, n_heads, has_bias=False, is_decoder=False, num_buckets=8, max_distance=20):
        super().__init__()
        self.is_decoder = is_decoder
        self.has_relative_attention_bias = has_bias
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.n_heads = n_heads
        self.d_kv = d_model // n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)
        if has_bias:
            self.relative_attention_bias = nn.Embedding(num_buckets, n_heads)

    @staticmethod
    def _relative_position_bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
        relative_buckets = 0
        if bidirectional:
            num_buckets //= 2
            relative_buckets += (relative_position > 0).to(torch.long) * num_buckets
            relative_position = torch.abs(relative_position)
        else:
            relative_position = -torch.min(relative_position, torch.zeros_like(relative_position))
        max_exact = num_buckets // 2
        is_small = relative_position < max_exact
        relative_position_if_large = max_exact + (
            torch.log(relative_position.float() / max_exact)
            / math.log(max_distance / max_exact)
            * (num_buckets - max_exact)
        ).to(torch.long)
        relative_position_if_large = torch.min(
            relative_position_if_large, torch.full_like(relative_position_if_large, num_buckets - 1)
        )
        relative_buckets += torch.where(is_small, relative_position, relative_position_if_large)
        return relative_buckets

    def compute_bias(self, query_length, key_length, device=None):
        if device is None:
            device = self.relative_attention_bias.weight.device
        context_position = torch.arange(query_length, dtype=torch.long, device=device)[:, None]
        memory_position = torch.arange(key_length, dtype=torch.long, device=device)[None, :]
        relative_position = memory_position - context_position
        bucket = self._relative_position_bucket(relative_position, bidirectional=(not self.is_decoder), num_buckets=self.num_buckets, max_distance=self.max_distance)
        values = self.relative_attention_bias(bucket)
        return values.permute([2, 0, 1]).unsqueeze(0)

    def forward(self, hidden, mask=None, key_value_states=None, position_bias=None):
        b, t, _ = hidden.shape
        src = hidden if key_value_states is None else key_value_states

        def shape(states):
            return states.view(b, -1, self.n_heads, self.d_kv).transpose(1, 2)

        q, k, v = shape(self.q(hidden)), shape(self.k(src)), shape(self.v(src))
        scores = torch.matmul(q, k.transpose(3, 2))
        if position_bias is None:
            if not self.has_relative_attention_bias:
                position_bias = torch.zeros((1, self.n_heads, t, src.size(1)), device=scores.device, dtype=scores.dtype)
            else:
                position_bias = self.compute_bias(t, src.size(1))
            if mask is not None:
                position_bias = position_bias + mask
        scores += position_bias
        weights = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        out = torch.matmul(weights, v).transpose(1, 2).contiguous().view(b, t, -1)
        return self.o(out), position_bias


class Block(nn.Module):
    def __init__(self, d, h, decoder, first):
        super().__init__()
        self.decoder = decoder
        self.attn, self.n1 = T5Attention(d, h, has_bias=first, is_decoder=decoder), T5LayerNorm(d)
        if decoder:
            self.cross, self.n2 = T5Attention(d, h, is_decoder=True), T5LayerNorm(d)
        self.wi, self.wo, self.n3 = nn.Linear(d, 2 * d, bias=False), nn.Linear(2 * d, d, bias=False), T5LayerNorm(d)

    def forward(self, x, mask, enc=None, enc_mask=None, bias=None, cross_bias=None):
        y, bias = self.attn(self.n1(x), mask, position_bias=bias)
        x = x + y
        if self.decoder:
            y, cross_bias = self.cross(self.n2(x), enc_mask, enc, cross_bias)
            x = x + y
        x = x + self.wo(F.relu(self.wi(self.n3(x))))
        return x, bias, cross_bias


class T5(nn.Module):
    def __init__(self, vocab, d, h, layers=2):
        super().__init__()
        self.shared = nn.Embedding(vocab, d)
        self.encoder = nn.ModuleList([Block(d, h, False, i == 0) for i in range(layers)])
        self.decoder = nn.ModuleList([Block(d, h, True, i == 0) for i in range(layers)])
        self.norm_e, self.norm_d = T5LayerNorm(d), T5LayerNorm(d)
        self.d = d

    @staticmethod
    def extended(mask, dtype):
        return (1.0 - mask[:, None, None, :].to(dtype)) * torch.finfo(dtype).min

    def _shift_right(self, ids):
        shifted = ids.new_zeros(ids.shape)
        shifted[..., 1:] = ids[..., :-1].clone()
        shifted[..., 0] = 0
        shifted.masked_fill_(shifted == -100, 0)
        return shifted

    def forward(self, ids, mask, labels):
        x, bias = self.shared(ids), None
        m = self.extended(mask, x.dtype)
        for b in self.encoder:
            x, bias, _ = b(x, m, bias=bias)
        enc = self.norm_e(x)
        dec_ids = self._shift_right(labels)
        y, bias, cross = self.shared(dec_ids), None, None
        t = dec_ids.size(1)
        causal = torch.tril(torch.ones(t, t)).unsqueeze(0).unsqueeze(0)
        causal = (1.0 - causal) * torch.finfo(y.dtype).min
        for b in self.decoder:
            y, bias, cross = b(y, causal, enc, m, bias, cross)
        y = self.norm_d(y) * (self.d**-0.5)
        logits = F.linear(y, self.shared.weight)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1), ignore_index=-100)
        return loss, logits


torch.manual_seed(42)
model = T5(50, opt.d_model, opt.heads)
for m in model.modules():
    if isinstance(m, nn.Linear):
        m.weight.data.normal_(mean=0.0, std=m.in_features**-0.5)
ids = torch.randint(1, 50, (3, 10))
mask = torch.ones(3, 10, dtype=torch.long)
mask[1, 7:] = 0
mask[2, 5:] = 0
labels = torch.randint(1, 50, (3, 6))
labels[0, 4:] = -100
optim = torch.optim.Adafactor(model.parameters(), lr=opt.lr)
compiled = torch.compile(model)
for step in range(opt.steps):
    loss, logits = compiled(ids, mask, labels)
    optim.zero_grad()
    loss.backward()
    optim.step()
    print("step", step, "loss %.5f" % loss.item(), tuple(logits.shape))
buckets = T5Attention._relative_position_bucket(torch.arange(-12, 13), True, 8, 20)
print(buckets.tolist())
print(T5Attention._relative_position_bucket(torch.arange(-12, 13), bidirectional=False, num_buckets=8, max_distance=20))
