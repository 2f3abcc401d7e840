import torch
import torch.nn as nn
import torch.nn.functional as F
from functools import partial
from collections import OrderedDict


def drop_path(x, drop_prob: float = 0.0, training: bool = False):
    if drop_prob == 0.0 or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = keep_prob + torch.rand(shape, dtype=x.dtype, device=x.device)
    random_tensor.floor_()
    return x.div(keep_prob) * random_tensor


class DropPath(nn.Module):
    def __init__(self, drop_prob=None):
        super(DropPath, self).__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training)

    def extra_repr(self) -> str:
        return "p={}".format(self.drop_prob)


class PatchEmbed(nn.Module):
    def __init__(self, img_size=16, patch_size=4, in_chans=3, embed_dim=24):
        super().__init__()
        self.num_patches = (img_size // patch_size) ** 2
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, dim, num_heads=4, qkv_bias=True, attn_drop=0.0, proj_drop=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        attn = self.attn_drop(attn)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj_drop(self.proj(x)), attn


class LayerScale(nn.Module):
    def __init__(self, dim, init_values=1e-1):
        super().__init__()
        self.gamma = nn.Parameter(init_values * torch.ones(dim))

    def forward(self, x):
        return x * self.gamma


class Block(nn.Module):
    def __init__(self, dim, num_heads, mlp_ratio=2.0, drop_path=0.0, norm_layer=nn.LayerNorm):
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = Attention(dim, num_heads)
        self.ls1 = LayerScale(dim)
        self.drop_path = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()
        self.norm2 = norm_layer(dim)
        hidden = int(dim * mlp_ratio)
        self.mlp = nn.Sequential(OrderedDict([("fc1", nn.Linear(dim, hidden)), ("act", nn.GELU()), ("drop", nn.Dropout(0.1)), ("fc2", nn.Linear(hidden, dim))]))

    def forward(self, x):
        y, attn = self.attn(self.norm1(x))
        x = x + self.drop_path(self.ls1(y))
        return x + self.drop_path(self.mlp(self.norm2(x)))


class DistilledVisionTransformer(nn.Module):
    def __init__(self, num_classes=10, embed_dim=24, depth=2, num_heads=4, drop_path_rate=0.2):
        super().__init__()
        self.patch_embed = PatchEmbed(embed_dim=embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.dist_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, self.patch_embed.num_patches + 2, embed_dim))
        dpr = [x.item() for x in torch.linspace(0, drop_path_rate, depth)]
        norm_layer = partial(nn.LayerNorm, eps=1e-6)
        self.blocks = nn.Sequential(*[Block(embed_dim, num_heads, drop_path=dpr[i], norm_layer=norm_layer) for i in range(depth)])
        self.norm = norm_layer(embed_dim)
        self.head = nn.Linear(embed_dim, num_classes)
        self.head_dist = nn.Linear(embed_dim, num_classes)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        nn.init.trunc_normal_(self.cls_token, std=0.02)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.02)
            if m.bias is not None:
                nn.init.constant_(m.bias, 0)
        elif isinstance(m, nn.LayerNorm):
            nn.init.constant_(m.bias, 0)
            nn.init.constant_(m.weight, 1.0)

    @torch.jit.ignore
    def no_weight_decay(self):
        return {"pos_embed", "cls_token", "dist_token"}

    def forward(self, x):
        B = x.shape[0]
        x = self.patch_embed(x)
        cls = self.cls_token.expand(B, -1, -1)
        dist = self.dist_token.expand(B, -1, -1)
        x = torch.cat((cls, dist, x), dim=1) + self.pos_embed
        x = self.norm(self.blocks(x))
        a, b = self.head(x[:, 0]), self.head_dist(x[:, 1])
        if self.training:
            return a, b
        return (a + b) / 2


torch.manual_seed(0)
teacher = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 10)).eval()
for p in teacher.parameters():
    p.requires_grad_(False)
model = DistilledVisionTransformer()
print(model)
skip = model.no_weight_decay()
decay = [p for n, p in model.named_parameters() if p.ndim > 1 and n not in skip]
no_decay = [p for n, p in model.named_parameters() if p.ndim <= 1 or n in skip]
print(len(decay), len(no_decay))
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}], lr=1e-3)
sched = torch.optim.lr_scheduler.SequentialLR(opt, [torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=2), torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)], milestones=[2])
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
compiled = torch.compile(model, backend="aot_eager")
x, y = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))
for epoch in range(4):
    model.train()
    with torch.no_grad():
        t = teacher(x)
    a, b = compiled(x)
    hard = F.cross_entropy(b, t.argmax(1))
    soft = F.kl_div(F.log_softmax(b / 3.0, 1), F.log_softmax(t / 3.0, 1), reduction="sum", log_target=True) * 9.0 / b.numel()
    loss = 0.5 * criterion(a, y) + 0.3 * hard + 0.2 * soft
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    print(f"epoch {epoch} loss {loss.item():.5f} hard {hard.item():.4f} soft {soft.item():.4f} lr {sched.get_last_lr()[0]:.6f}")
model.eval()
with torch.no_grad():
    print(compiled(x).softmax(-1).max(-1))
