"""MobileNetV3-small style network trained with gradient accumulation."""
import math
from typing import Callable, List, Optional

import torch
from torch import nn, Tensor
from torch.nn import functional as F


def _make_divisible(v: float, divisor: int, min_value: Optional[int] = None) -> int:
    if min_value is None:
        min_value = divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * v:
        new_v += divisor
    return new_v


class hswish(nn.Module):
    def forward(self, x):
        return x * F.relu6(x + 3, inplace=True) / 6


class hsigmoid(nn.Module):
    def forward(self, x):
        return F.relu6(x + 3, inplace=True) / 6


class SeModule(nn.Module):
    def __init__(self, in_size, reduction=4):
        super(SeModule, self).__init__()
        expand_size = max(in_size // reduction, 4)
        self.se = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_size, expand_size, kernel_size=1, bias=False),
            nn.BatchNorm2d(expand_size),
            nn.ReLU(inplace=True),
            nn.Conv2d(expand_size, in_size, kernel_size=1, bias=False),
            nn.Hardsigmoid(),
        )

    def forward(self, x):
        return x * self.se(x)


class Block(nn.Module):
    """expand + depthwise + pointwise"""

    def __init__(self, kernel_size, in_size, expand_size, out_size, act, se, stride):
        super(Block, self).__init__()
        self.stride = stride
        self.conv1 = nn.Conv2d(in_size, expand_size, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(expand_size)
        self.act1 = act(inplace=True)
        self.conv2 = nn.Conv2d(expand_size, expand_size, kernel_size=kernel_size, stride=stride,
                               padding=kernel_size // 2, groups=expand_size, bias=False)
        self.bn2 = nn.BatchNorm2d(expand_size)
        self.act2 = act(inplace=True)
        self.se = SeModule(expand_size) if se else nn.Identity()
        self.conv3 = nn.Conv2d(expand_size, out_size, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_size)
        self.act3 = act(inplace=True)
        self.skip = None
        if stride == 1 and in_size != out_size:
            self.skip = nn.Sequential(nn.Conv2d(in_size, out_size, kernel_size=1, bias=False), nn.BatchNorm2d(out_size))
        if stride == 2:
            self.skip = nn.Sequential(
                nn.Conv2d(in_channels=in_size, out_channels=in_size, kernel_size=3, groups=in_size, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(in_size),
                nn.Conv2d(in_size, out_size, kernel_size=1, bias=True),
                nn.BatchNorm2d(out_size),
            )

    def forward(self, x):
        skip = x
        out = self.act1(self.bn1(self.conv1(x)))
        out = self.act2(self.bn2(self.conv2(out)))
        out = self.se(out)
        out = self.bn3(self.conv3(out))
        if self.skip is not None:
            skip = self.skip(skip)
        return self.act3(out + skip)


class MobileNetV3(nn.Module):
    def __init__(self, num_classes=6, act=nn.Hardswish, width_mult=0.5):
        super(MobileNetV3, self).__init__()
        c = [_make_divisible(x * width_mult, 4) for x in (16, 16, 24, 24)]
        print(c)
        self.conv1 = nn.Conv2d(3, c[0], kernel_size=3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(c[0])
        self.hs1 = hswish()
        self.bneck = nn.Sequential(
            Block(3, c[0], 16, c[1], nn.ReLU, True, 2),
            Block(3, c[1], 24, c[2], nn.ReLU, False, 1),
            Block(5, c[2], 24, c[3], act, True, 1),
        )
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.linear3 = nn.Linear(c[3], 20, bias=False)
        self.bn3 = nn.BatchNorm1d(20)
        self.hs3 = act(inplace=True)
        self.drop = nn.Dropout(0.2)
        self.linear4 = nn.Linear(20, num_classes)
        self.init_params()

    def init_params(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.001)
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        out = self.hs1(self.bn1(self.conv1(x)))
        out = self.bneck(out)
        out = self.gap(out).flatten(1)
        out = self.drop(self.hs3(self.bn3(self.linear3(out))))
        return self.linear4(out)


def count_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = MobileNetV3().to(device)
    print(f"Parameters: {count_parameters(model):,} on {device}")
    model_c = torch.compile(model)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01, alpha=0.9, momentum=0.9, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.973)
    loss_fn = nn.CrossEntropyLoss().to(device)
    accum = 2
    for it in range(4):
        x, y = torch.randn(4, 3, 16, 16, device=device), torch.randint(0, 6, (4,), device=device)
        loss = loss_fn(model_c(x), y) / accum
        loss.backward()
        if (it + 1) % accum == 0:
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
        print(f"[{it + 1}] loss: {loss.item() * accum:.3f} lr {scheduler.get_last_lr()[0]:.6f}")
    model.eval()
    with torch.no_grad():
        out = model_c(torch.randn(2, 3, 16, 16))
    print(out.shape, out.argmax(dim=-1).tolist())
