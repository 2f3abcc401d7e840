"""Grokking modular addition with a one layer transformer written with hook points; Fourier analysis of what it learned."""
import copy
import random
from collections import defaultdict

import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class HookPoint(nn.Module):
    def __init__(self):
        super().__init__()
        self.fwd_hooks = []

    def give_name(self, name):
        self.name = name

    def add_hook(self, hook):
        def full_hook(module, module_input, module_output):
            return hook(module_output, name=self.name)
        handle = self.register_forward_hook(full_hook)
        self.fwd_hooks.append(handle)

    def remove_hooks(self):
        for hook in self.fwd_hooks:
            hook.remove()
        self.fwd_hooks = []

    def forward(self, x):
        return x


class Embed(nn.Module):
    def __init__(self, d_vocab, d_model):
        super().__init__()
        self.W_E = nn.Parameter(torch.randn(d_model, d_vocab) / math.sqrt(d_model))

    def forward(self, x):
        return torch.einsum('dbp -> bpd', self.W_E[:, x])


class Unembed(nn.Module):
    def __init__(self, d_vocab, d_model):
        super().__init__()
        self.W_U = nn.Parameter(torch.randn(d_model, d_vocab) / math.sqrt(d_vocab))

    def forward(self, x):
        return (x @ self.W_U)


class PosEmbed(nn.Module):
    def __init__(self, max_ctx, d_model):
        super().__init__()
        self.W_pos = nn.Parameter(torch.randn(max_ctx, d_model) / math.sqrt(d_model))

    def forward(self, x):
        return x + self.W_pos[:x.shape[-2]]


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, d_head, n_ctx, model):
        super().__init__()
        self.model = model
        self.W_K = nn.Parameter(torch.randn(num_heads, d_head, d_model) / math.sqrt(d_model))
        self.W_Q = nn.Parameter(torch.randn(num_heads, d_head, d_model) / math.sqrt(d_model))
        self.W_V = nn.Parameter(torch.randn(num_heads, d_head, d_model) / math.sqrt(d_model))
        self.W_O = nn.Parameter(torch.randn(d_model, d_head * num_heads) / math.sqrt(d_model))
        self.register_buffer('mask', torch.tril(torch.ones((n_ctx, n_ctx))))
        self.d_head = d_head
        self.hook_k, self.hook_q, self.hook_v, self.hook_z = HookPoint(), HookPoint(), HookPoint(), HookPoint()
        self.hook_attn = HookPoint()

    def forward(self, x):
        k = self.hook_k(torch.einsum('ihd,bpd->biph', self.W_K, x))
        q = self.hook_q(torch.einsum('ihd,bpd->biph', self.W_Q, x))
        v = self.hook_v(torch.einsum('ihd,bpd->biph', self.W_V, x))
        attn_scores_pre = torch.einsum('biph,biqh->biqp', k, q)
        attn_scores_masked = torch.tril(attn_scores_pre) - 1e10 * (1 - self.mask[:x.shape[-2], :x.shape[-2]])
        attn_matrix = self.hook_attn(F.softmax(attn_scores_masked / math.sqrt(self.d_head), dim=-1))
        z = self.hook_z(torch.einsum('biph,biqp->biqh', v, attn_matrix))
        z_flat = z.permute(0, 2, 1, 3).flatten(2)
        return torch.einsum('df,bqf->bqd', self.W_O, z_flat)


class MLP(nn.Module):
    def __init__(self, d_model, d_mlp, act_type):
        super().__init__()
        self.W_in = nn.Parameter(torch.randn(d_mlp, d_model) / math.sqrt(d_model))
        self.b_in = nn.Parameter(torch.zeros(d_mlp))
        self.W_out = nn.Parameter(torch.randn(d_model, d_mlp) / math.sqrt(d_model))
        self.b_out = nn.Parameter(torch.zeros(d_model))
        self.act_type = act_type
        self.hook_post = HookPoint()
        assert act_type in ['ReLU', 'GeLU']

    def forward(self, x):
        x = torch.einsum('md,bpd->bpm', self.W_in, x) + self.b_in
        if self.act_type == 'ReLU':
            x = F.relu(x)
        elif self.act_type == 'GeLU':
            x = F.gelu(x)
        return torch.einsum('dm,bpm->bpd', self.W_out, self.hook_post(x)) + self.b_out


class Transformer(nn.Module):
    def __init__(self, d_vocab, d_model, d_mlp, d_head, num_heads, n_ctx, act_type):
        super().__init__()
        self.cache = {}
        self.embed = Embed(d_vocab, d_model)
        self.pos_embed = PosEmbed(n_ctx, d_model)
        self.attn = Attention(d_model, num_heads, d_head, n_ctx, model=[self])
        self.mlp = MLP(d_model, d_mlp, act_type)
        self.unembed = Unembed(d_vocab, d_model)
        for name, module in self.named_modules():
            if type(module) == HookPoint:
                module.give_name(name)

    def forward(self, x):
        x = self.pos_embed(self.embed(x))
        x = x + self.attn(x)
        x = x + self.mlp(x)
        return self.unembed(x)

    def hook_points(self):
        return [module for name, module in self.named_modules() if 'hook' in name]

    def remove_all_hooks(self):
        for hp in self.hook_points():
            hp.remove_hooks()

    def cache_all(self, cache):
        def save_hook(tensor, name):
            cache[name] = tensor.detach()
        for hp in self.hook_points():
            hp.add_hook(save_hook)


p = 13
torch.manual_seed(0)
random.seed(0)
pairs = [(i, j, p) for i in range(p) for j in range(p)]
random.shuffle(pairs)
div = int(0.6 * len(pairs))
train, test = pairs[:div], pairs[div:]
labels = lambda data: torch.tensor([(i + j) % p for i, j, _ in data])
model = Transformer(d_vocab=p + 1, d_model=24, d_mlp=48, d_head=6, num_heads=4, n_ctx=3, act_type='ReLU')
fast = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1.0, betas=(0.9, 0.98))
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(step / 10, 1))
history = defaultdict(list)


def full_loss(model, data):
    logits = model(torch.tensor(data))[:, -1]
    logprobs = F.log_softmax(logits.to(torch.float64), dim=-1)
    prediction_logprobs = torch.gather(logprobs, index=labels(data)[:, None], dim=-1)
    return -torch.mean(prediction_logprobs)


for epoch in range(6):
    train_loss = full_loss(fast, train)
    with torch.no_grad():
        test_loss = full_loss(fast, test)
    history["train"].append(train_loss.item())
    history["test"].append(test_loss.item())
    print(f"{epoch}_{math.log(train_loss.item()):.4f}_{math.log(test_loss.item()):.4f}")
    train_loss.backward()
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()

cache = {}
model.remove_all_hooks()
model.cache_all(cache)
logits = model(torch.tensor(train[:5]))
for name, value in cache.items():
    print(f"{name:18s} {tuple(value.shape)}")
model.remove_all_hooks()
fourier = [torch.ones(p) / math.sqrt(p)]
for i in range(1, p // 2 + 1):
    for fn in (torch.cos, torch.sin):
        row = fn(2 * torch.pi * torch.arange(p) * i / p)
        fourier.append(row / row.norm())
fourier = torch.stack(fourier)
print(torch.allclose(fourier @ fourier.T, torch.eye(p), atol=1e-5))
spectrum = (model.embed.W_E[:, :-1] @ fourier.T).norm(dim=0)
print(spectrum.shape, spectrum.argmax().item(), f"{(spectrum**2).sum().item():.3f}")
print(sorted(copy.deepcopy(model).state_dict().keys())[:4])
