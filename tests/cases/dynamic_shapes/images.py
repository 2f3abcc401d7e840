"""Convolution, pooling, padding and resizing of images of varying sizes."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
weight = torch.randn(4, 3, 3, 3, requires_grad=True)


@torch.compile
def features(x):
    x = F.pad(x, (1, 1, 2, 0))
    x = F.relu(F.conv2d(x, weight, stride=2, padding=1))
    x = F.max_pool2d(x, 2)
    return F.adaptive_avg_pool2d(x, 1).flatten(1)


@torch.compile
def resized(x):
    return F.interpolate(x, scale_factor=2, mode="nearest")[..., 1:-1].mean((2, 3))


for size in ((2, 3, 12, 16), (3, 3, 14, 10), (4, 3, 9, 11)):
    x = torch.linspace(0, 1, 1).expand(size).contiguous()
    weight.grad = None
    out = features(x)
    out.sum().backward()
    print(out.shape, [round(v, 3) for v in weight.grad.sum((1, 2, 3)).tolist()])
    print(resized(x).shape)
