"""Parameter-efficient tuning: LoRA, QLoRA-like blocks with NF4 and double quantization, adapters, prefix tuning, IA3, BitFit, DoRA."""
import copy
import math
import functools
from contextlib import contextmanager
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize

NF4 = torch.tensor([-1.0, -0.6961928, -0.5250731, -0.39491749, -0.28444138, -0.18477343, -0.09105004, 0.0, 0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0])


def quantize_nf4(w: torch.Tensor, block: int = 16):
    flat = w.reshape(-1, block)
    absmax = flat.abs().amax(dim=1, keepdim=True).clamp_min(1e-8)
    codes = (flat / absmax).unsqueeze(-1).sub(NF4).abs().argmin(-1).to(torch.uint8)
    packed = (codes[:, ::2] << 4) | codes[:, 1::2]
    scale = absmax.max() / 255
    absmax_q = torch.round(absmax / scale).to(torch.uint8)
    return packed, absmax_q, scale


def dequantize_nf4(packed, absmax_q, scale, shape):
    hi, lo = packed >> 4, packed & 0xF
    codes = torch.stack([hi, lo], dim=-1).flatten(1).long()
    return (NF4[codes] * (absmax_q.float() * scale)).reshape(shape)


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 4, alpha: int = 8, dropout: float = 0.0, quantize: bool = False, dora: bool = False):
        super().__init__()
        self.in_features, self.out_features = base.in_features, base.out_features
        self.r, self.scaling = r, alpha / r
        self.quantize = quantize
        if quantize:
            packed, absmax, scale = quantize_nf4(base.weight.detach())
            self.register_buffer("packed", packed)
            self.register_buffer("absmax", absmax)
            self.register_buffer("scale", scale)
        else:
            self.weight = nn.Parameter(base.weight.detach().clone(), requires_grad=False)
        self.bias = nn.Parameter(base.bias.detach().clone(), requires_grad=False) if base.bias is not None else None
        self.lora_A = nn.Parameter(torch.empty(r, self.in_features))
        self.lora_B = nn.Parameter(torch.zeros(self.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()
        self.m = nn.Parameter(self.base_weight().norm(dim=1, keepdim=True)) if dora else None
        self.merged = False

    def base_weight(self):
        if self.quantize:
            return dequantize_nf4(self.packed, self.absmax, self.scale, (self.out_features, self.in_features))
        return self.weight

    def delta(self):
        return self.lora_B @ self.lora_A * self.scaling

    def forward(self, x):
        if self.merged:
            return F.linear(x, self.weight, self.bias)
        if self.m is not None:
            w = self.base_weight() + self.delta()
            return F.linear(x, self.m * w / w.norm(dim=1, keepdim=True).detach(), self.bias)
        out = F.linear(x, self.base_weight(), self.bias)
        return out + (self.drop(x) @ self.lora_A.T @ self.lora_B.T) * self.scaling

    @torch.no_grad()
    def merge(self):
        if not self.quantize and not self.merged:
            self.weight += self.delta()
            self.merged = True
        return self

    def extra_repr(self):
        return f"{self.in_features}->{self.out_features}, r={self.r}, quantize={self.quantize}"


class Adapter(nn.Module):
    def __init__(self, module, dim, bottleneck=4):
        super().__init__()
        self.module = module
        self.down, self.up = nn.Linear(dim, bottleneck), nn.Linear(bottleneck, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, *a, **k):
        h = self.module(*a, **k)
        return h + self.up(F.gelu(self.down(h), approximate="tanh"))


class IA3(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.l = nn.Parameter(torch.ones(n))

    def forward(self, w):
        return w * self.l.unsqueeze(1)


class Attn(nn.Module):
    def __init__(self, d, h, prefix=0):
        super().__init__()
        self.h = h
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d, d) for _ in range(4))
        if prefix:
            self.prefix_k = nn.Parameter(torch.randn(1, h, prefix, d // h) * 0.02)
            self.prefix_v = nn.Parameter(torch.randn(1, h, prefix, d // h) * 0.02)
        self.prefix = prefix

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (p(x).view(B, T, self.h, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        if self.prefix:
            k = torch.cat([self.prefix_k.expand(B, -1, -1, -1), k], dim=2)
            v = torch.cat([self.prefix_v.expand(B, -1, -1, -1), v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self, d=16, h=2, layers=2, vocab=20, prefix=0):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            self.layers.append(nn.ModuleDict(dict(attn=Attn(d, h, prefix), ln1=nn.LayerNorm(d), ln2=nn.LayerNorm(d), mlp=nn.Sequential(nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d)))))
        self.head = nn.Linear(d, 3)

    def forward(self, ids):
        x = self.emb(ids)
        for l in self.layers:
            x = x + l["attn"](l["ln1"](x))
            x = x + l["mlp"](l["ln2"](x))
        return self.head(x.mean(1))


def get_parent(model, name):
    parts = name.split(".")
    return functools.reduce(getattr, parts[:-1], model), parts[-1]


def inject(model, names, make):
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and any(name.endswith(n) for n in names):
            parent, child = get_parent(model, name)
            setattr(parent, child, make(module))
    return model


def mark_only(model, keys):
    for n, p in model.named_parameters():
        p.requires_grad_(any(k in n for k in keys))


def count(model):
    train, total = 0, 0
    for p in model.parameters():
        total += p.numel()
        train += p.numel() if p.requires_grad else 0
    return f"trainable params: {train:,} || all params: {total:,} || trainable%: {100 * train / total:.2f}"


@contextmanager
def disabled(model):
    saved = {n: m.lora_B.data.clone() for n, m in model.named_modules() if isinstance(m, LoRALinear)}
    for n, m in model.named_modules():
        if n in saved:
            m.lora_B.data.zero_()
    yield model
    for n, m in model.named_modules():
        if n in saved:
            m.lora_B.data.copy_(saved[n])


torch.manual_seed(0)
base = Model()
ids, y = torch.randint(0, 20, (6, 7)), torch.randint(0, 3, (6,))
methods = {
    "lora": lambda m: (inject(m, ["q_proj", "v_proj"], LoRALinear), ["lora_", "head"]),
    "qlora": lambda m: (inject(m, ["q_proj", "k_proj", "v_proj", "o_proj"], functools.partial(LoRALinear, quantize=True)), ["lora_", "head"]),
    "dora": lambda m: (inject(m, ["mlp.0"], lambda l: LoRALinear(l, r=2, dora=True)), ["lora_", ".m", "head"]),
    "bitfit": lambda m: (m, ["bias"]),
}
for name, apply in methods.items():
    model, keys = apply(copy.deepcopy(base))
    mark_only(model, keys)
    print(name, count(model))
    c = torch.compile(model, backend="aot_eager")
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    for _ in range(3):
        loss = F.cross_entropy(c(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"  {loss.item():.5f}")
    if name == "lora":
        print(model.layers[0]["attn"].q_proj)
        before = model(ids)
        with disabled(model):
            print(f"  off {(model(ids) - before).abs().max().item() > 1e-4}")
        for m in model.modules():
            if isinstance(m, LoRALinear):
                m.merge()
        print("  merged", torch.allclose(model(ids), before, atol=1e-5), sorted(k for k in model.state_dict() if "lora" in k)[:2])
for name, make in {"adapter": lambda: Model(), "prefix": lambda: Model(prefix=2), "ia3": lambda: Model()}.items():
    torch.manual_seed(1)
    model = make()
    if name == "adapter":
        for l in model.layers:
            l["mlp"] = Adapter(l["mlp"], 16)
        keys = ["down", "up.", "head"]
    elif name == "ia3":
        for l in model.layers:
            parametrize.register_parametrization(l["attn"].k_proj, "weight", IA3(16))
        keys = ["parametrizations.weight.0", "head"]
    else:
        keys = ["prefix", "head"]
    mark_only(model, keys)
    c = torch.compile(model)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    for _ in range(3):
        loss = F.cross_entropy(c(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(round(loss.item(), 5))
    print(name, count(model), losses)
packed, absmax, scale = quantize_nf4(torch.linspace(-1, 1, 32).view(2, 16))
print(packed.shape, packed.dtype, absmax.flatten().tolist(), f"{(dequantize_nf4(packed, absmax, scale, (2, 16)) - torch.linspace(-1, 1, 32).view(2, 16)).abs().max().item():.4f}")
