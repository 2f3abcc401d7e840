"""SegFormer (mix vision transformer, lucidrains style) with einops-free rearranging, trained two steps with a poly schedule."""
from functools import partial
from math import sqrt
import torch
from torch import nn, einsum
import torch.nn.functional as F


def exists(val):
    return val is not None


def cast_tuple(val, depth):
    return val if isinstance(val, tuple) else (val,) * depth


class DsConv2d(nn.Module):
    def __init__(self, dim_in, dim_out, kernel_size, padding, stride=1, bias=True):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(dim_in, dim_in, kernel_size=kernel_size, padding=padding, groups=dim_in, stride=stride, bias=bias),
            nn.Conv2d(dim_in, dim_out, kernel_size=1, bias=bias),
        )

    def forward(self, x):
        return self.net(x)


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.g = nn.Parameter(torch.ones(1, dim, 1, 1))
        self.b = nn.Parameter(torch.zeros(1, dim, 1, 1))

    def forward(self, x):
        std = torch.var(x, dim=1, unbiased=False, keepdim=True).sqrt()
        mean = torch.mean(x, dim=1, keepdim=True)
        return (x - mean) / (std + self.eps) * self.g + self.b


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = LayerNorm(dim)

    def forward(self, x):
        return self.fn(self.norm(x))


class EfficientSelfAttention(nn.Module):
    def __init__(self, *, dim, heads, reduction_ratio):
        super().__init__()
        self.scale = (dim // heads) ** -0.5
        self.heads = heads
        self.to_q = nn.Conv2d(dim, dim, 1, bias=False)
        self.to_kv = nn.Conv2d(dim, dim * 2, reduction_ratio, stride=reduction_ratio, bias=False)
        self.to_out = nn.Conv2d(dim, dim, 1, bias=False)

    def forward(self, x):
        h, w = x.shape[-2:]
        heads = self.heads
        q, k, v = (self.to_q(x), *self.to_kv(x).chunk(2, dim=1))
        q, k, v = map(lambda t: t.unflatten(1, (heads, -1)).flatten(3).transpose(2, 3).flatten(0, 1), (q, k, v))
        sim = einsum("b i d, b j d -> b i j", q, k) * self.scale
        attn = sim.softmax(dim=-1)
        out = einsum("b i j, b j d -> b i d", attn, v)
        out = out.unflatten(0, (-1, heads)).permute(0, 1, 3, 2).flatten(1, 2).unflatten(-1, (h, w))
        return self.to_out(out)


class MixFeedForward(nn.Module):
    def __init__(self, *, dim, expansion_factor):
        super().__init__()
        hidden_dim = dim * expansion_factor
        self.net = nn.Sequential(nn.Conv2d(dim, hidden_dim, 1), DsConv2d(hidden_dim, hidden_dim, 3, padding=1), nn.GELU(), nn.Conv2d(hidden_dim, dim, 1))

    def forward(self, x):
        return self.net(x)


class MiT(nn.Module):
    def __init__(self, *, channels, dims, heads, ff_expansion, reduction_ratio, num_layers):
        super().__init__()
        stage_kernel_stride_pad = ((3, 2, 1), (3, 2, 1))
        dims = (channels, *dims)
        dim_pairs = list(zip(dims[:-1], dims[1:]))
        self.stages = nn.ModuleList([])
        for (dim_in, dim_out), (kernel, stride, padding), n, ff, h, r in zip(dim_pairs, stage_kernel_stride_pad, num_layers, ff_expansion, heads, reduction_ratio):
            get_overlap_patches = nn.Unfold(kernel, stride=stride, padding=padding)
            overlap_patch_embed = nn.Conv2d(dim_in * kernel**2, dim_out, 1)
            layers = nn.ModuleList([])
            for _ in range(n):
                layers.append(nn.ModuleList([
                    PreNorm(dim_out, EfficientSelfAttention(dim=dim_out, heads=h, reduction_ratio=r)),
                    PreNorm(dim_out, MixFeedForward(dim=dim_out, expansion_factor=ff)),
                ]))
            self.stages.append(nn.ModuleList([get_overlap_patches, overlap_patch_embed, layers]))

    def forward(self, x, return_layer_outputs=False):
        h, w = x.shape[-2:]
        layer_outputs = []
        for get_overlap_patches, overlap_embed, layers in self.stages:
            x = get_overlap_patches(x)
            num_patches = x.shape[-1]
            ratio = int(sqrt((h * w) / num_patches))
            x = x.unflatten(-1, (h // ratio, -1))
            x = overlap_embed(x)
            for attn, ff in layers:
                x = attn(x) + x
                x = ff(x) + x
            layer_outputs.append(x)
        return x if not return_layer_outputs else layer_outputs


class Segformer(nn.Module):
    def __init__(self, *, dims=(4, 8), heads=(1, 2), ff_expansion=2, reduction_ratio=(2, 1), num_layers=1, channels=3, decoder_dim=6, num_classes=3):
        super().__init__()
        dims, heads, ff_expansion, reduction_ratio, num_layers = map(partial(cast_tuple, depth=2), (dims, heads, ff_expansion, reduction_ratio, num_layers))
        self.mit = MiT(channels=channels, dims=dims, heads=heads, ff_expansion=ff_expansion, reduction_ratio=reduction_ratio, num_layers=num_layers)
        self.to_fused = nn.ModuleList([nn.Sequential(nn.Conv2d(dim, decoder_dim, 1), nn.Upsample(scale_factor=2**i)) for i, dim in enumerate(dims)])
        self.to_segmentation = nn.Sequential(nn.Conv2d(2 * decoder_dim, decoder_dim, 1), nn.Conv2d(decoder_dim, num_classes, 1))

    def forward(self, x):
        layer_outputs = self.mit(x, return_layer_outputs=True)
        fused = [to_fused(output) for output, to_fused in zip(layer_outputs, self.to_fused)]
        return self.to_segmentation(torch.cat(fused, dim=1))


torch.manual_seed(0)
model = Segformer()
print(sum(p.numel() for p in model.parameters()))
seg = torch.compile(model)
x = torch.randn(2, 3, 16, 16)
y = torch.randint(0, 3, (2, 16, 16))
y[0, :2] = 255
opt = torch.optim.AdamW(model.parameters(), lr=6e-3)
sched = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=4, power=0.9)
for it in range(3):
    logits = F.interpolate(seg(x), size=y.shape[-2:], mode="bilinear", align_corners=False)
    loss = F.cross_entropy(logits, y, ignore_index=255)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    print(it, f"{loss.item():.4f}", f"{opt.param_groups[0]['lr']:.6f}")
pred = logits.argmax(1)
valid = y != 255
conf = torch.bincount(3 * y[valid] + pred[valid], minlength=9).view(3, 3)
iou = conf.diag() / (conf.sum(0) + conf.sum(1) - conf.diag())
print(conf, f"mIoU {iou.mean():.4f}")
