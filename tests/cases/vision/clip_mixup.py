"""CLIP on toy pairs with a learnable temperature, and a classifier with mixup, cutmix, label smoothing and accumulation."""
import math
import random
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)


class QuickGELU(nn.Module):
    def forward(self, x: torch.Tensor):
        return x * torch.sigmoid(1.702 * x)


class ResidualAttentionBlock(nn.Module):
    def __init__(self, d_model: int, n_head: int, attn_mask: torch.Tensor = None):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, n_head)
        self.ln_1 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential()
        self.mlp.add_module("c_fc", nn.Linear(d_model, d_model * 4))
        self.mlp.add_module("gelu", QuickGELU())
        self.mlp.add_module("c_proj", nn.Linear(d_model * 4, d_model))
        self.ln_2 = nn.LayerNorm(d_model)
        self.attn_mask = attn_mask

    def attention(self, x: torch.Tensor):
        self.attn_mask = self.attn_mask.to(dtype=x.dtype, device=x.device) if self.attn_mask is not None else None
        return self.attn(x, x, x, need_weights=False, attn_mask=self.attn_mask)[0]

    def forward(self, x: torch.Tensor):
        x = x + self.attention(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class Transformer(nn.Module):
    def __init__(self, width: int, layers: int, heads: int, attn_mask: torch.Tensor = None):
        super().__init__()
        self.resblocks = nn.Sequential(*[ResidualAttentionBlock(width, heads, attn_mask) for _ in range(layers)])

    def forward(self, x: torch.Tensor):
        return self.resblocks(x)


class VisionTransformer(nn.Module):
    def __init__(self, input_resolution, patch_size, width, layers, heads, output_dim):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, kernel_size=patch_size, stride=patch_size, bias=False)
        scale = width ** -0.5
        self.class_embedding = nn.Parameter(scale * torch.randn(width))
        self.positional_embedding = nn.Parameter(scale * torch.randn((input_resolution // patch_size) ** 2 + 1, width))
        self.ln_pre = nn.LayerNorm(width)
        self.transformer = Transformer(width, layers, heads)
        self.ln_post = nn.LayerNorm(width)
        self.proj = nn.Parameter(scale * torch.randn(width, output_dim))

    def forward(self, x):
        x = self.conv1(x)
        x = x.reshape(x.shape[0], x.shape[1], -1)
        x = x.permute(0, 2, 1)
        x = torch.cat([self.class_embedding.to(x.dtype) + torch.zeros(x.shape[0], 1, x.shape[-1], dtype=x.dtype, device=x.device), x], dim=1)
        x = x + self.positional_embedding.to(x.dtype)
        x = self.ln_pre(x)
        x = x.permute(1, 0, 2)
        x = self.transformer(x)
        x = x.permute(1, 0, 2)
        x = self.ln_post(x[:, 0, :])
        return x @ self.proj


class CLIP(nn.Module):
    def __init__(self, embed_dim=8, context_length=6, vocab_size=20, width=16):
        super().__init__()
        self.context_length = context_length
        self.visual = VisionTransformer(8, 4, width, 1, 2, embed_dim)
        self.transformer = Transformer(width, 1, 2, attn_mask=self.build_attention_mask())
        self.token_embedding = nn.Embedding(vocab_size, width)
        self.positional_embedding = nn.Parameter(torch.empty(context_length, width))
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.empty(width, embed_dim))
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        nn.init.normal_(self.positional_embedding, std=0.01)
        nn.init.normal_(self.text_projection, std=width ** -0.5)

    def build_attention_mask(self):
        mask = torch.empty(self.context_length, self.context_length)
        mask.fill_(float("-inf"))
        mask.triu_(1)
        return mask

    def encode_text(self, text):
        x = self.token_embedding(text)
        x = x + self.positional_embedding
        x = x.permute(1, 0, 2)
        x = self.transformer(x)
        x = x.permute(1, 0, 2)
        x = self.ln_final(x)
        return x[torch.arange(x.shape[0]), text.argmax(dim=-1)] @ self.text_projection

    def forward(self, image, text):
        image_features = self.visual(image)
        text_features = self.encode_text(text)
        image_features = image_features / image_features.norm(dim=1, keepdim=True)
        text_features = text_features / text_features.norm(dim=1, keepdim=True)
        logit_scale = self.logit_scale.exp()
        logits_per_image = logit_scale * image_features @ text_features.t()
        return logits_per_image, logits_per_image.t()


model = CLIP()
print(sum(p.numel() for p in model.parameters()), model.transformer.resblocks[0])
images = torch.randn(4, 3, 8, 8)
text = torch.randint(1, 18, (4, 6))
text[:, -1] = 19
exclude = lambda n, p: p.ndim < 2 or "bn" in n or "ln" in n or "bias" in n or "logit_scale" in n
named = list(model.named_parameters())
opt = torch.optim.AdamW([{"params": [p for n, p in named if exclude(n, p)], "weight_decay": 0.},
                         {"params": [p for n, p in named if not exclude(n, p)], "weight_decay": 0.2}], lr=5e-3, betas=(0.9, 0.98), eps=1e-6)


def cosine_lr(step, base_lr, warmup_length, steps):
    if step < warmup_length:
        return base_lr * (step + 1) / warmup_length
    e, es = step - warmup_length, steps - warmup_length
    return 0.5 * (1 + math.cos(math.pi * e / es)) * base_lr


compiled = torch.compile(model)
for step in range(4):
    for g in opt.param_groups:
        g["lr"] = cosine_lr(step, 5e-3, 2, 4)
    li, lt = compiled(images, text)
    labels = torch.arange(len(images))
    loss = (F.cross_entropy(li, labels) + F.cross_entropy(lt, labels)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        model.logit_scale.clamp_(0, math.log(100))
    print(f"clip {step} loss {loss.item():.4f} scale {model.logit_scale.exp().item():.3f} lr {opt.param_groups[0]['lr']:.5f} acc {(li.argmax(1) == labels).float().mean().item():.2f}")


def mixup_data(x, y, alpha=1.0):
    lam = random.betavariate(alpha, alpha) if alpha > 0 else 1
    index = torch.randperm(x.size(0))
    return lam * x + (1 - lam) * x[index, :], y, y[index], lam


def rand_bbox(size, lam):
    W, H = size[2], size[3]
    cut_rat = math.sqrt(1. - lam)
    cut_w, cut_h = int(W * cut_rat), int(H * cut_rat)
    cx, cy = random.randrange(W), random.randrange(H)
    clip = lambda v, hi: max(0, min(hi, v))
    return clip(cx - cut_w // 2, W), clip(cy - cut_h // 2, H), clip(cx + cut_w // 2, W), clip(cy + cut_h // 2, H)


def cutmix_data(x, y, alpha=1.0):
    lam = random.betavariate(alpha, alpha)
    index = torch.randperm(x.size(0))
    x1, y1, x2, y2 = rand_bbox(x.size(), lam)
    x = x.clone()
    x[:, :, x1:x2, y1:y2] = x[index, :, x1:x2, y1:y2]
    lam = 1 - ((x2 - x1) * (y2 - y1) / (x.size(-1) * x.size(-2)))
    return x, y, y[index], lam


def mixup_criterion(criterion, pred, y_a, y_b, lam):
    return lam * criterion(pred, y_a) + (1 - lam) * criterion(pred, y_b)


net = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU6(), nn.AvgPool2d(4), nn.Flatten(), nn.Dropout(0.2), nn.Linear(32, 5))
fwd = torch.compile(net)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.2, total_steps=3)
y = torch.tensor([0, 1, 2, 4])
accumulate, running = 2, 0.0
for it in range(6):
    mixed, a, b, lam = (mixup_data if it % 2 else partial(cutmix_data, alpha=0.5))(images, y)
    loss = mixup_criterion(criterion, fwd(mixed), a, b, lam) / accumulate
    loss.backward()
    running += loss.item()
    if (it + 1) % accumulate == 0:
        norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
        opt.step()
        opt.zero_grad()
        scheduler.step() if it < 5 else None
        print(f"mix {it} loss {running:.4f} norm {norm.item():.4f} lr {opt.param_groups[0]['lr']:.4f} lam {lam:.3f}")
        running = 0.0
