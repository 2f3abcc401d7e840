"""Convolutional classics side by side: an Inception block with auxiliary head, ShuffleNet units, a GhostNet module and CBAM."""
import math
from collections import namedtuple
from typing import Any, Callable, List, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits"])


class BasicConv2d(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    def __init__(self, in_channels, ch1x1, ch3x3red, ch3x3, ch5x5red, ch5x5, pool_proj, conv_block: Optional[Callable[..., nn.Module]] = None):
        super().__init__()
        if conv_block is None:
            conv_block = BasicConv2d
        self.branch1 = conv_block(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(conv_block(in_channels, ch3x3red, kernel_size=1), conv_block(ch3x3red, ch3x3, kernel_size=3, padding=1))
        self.branch3 = nn.Sequential(conv_block(in_channels, ch5x5red, kernel_size=1), conv_block(ch5x5red, ch5x5, kernel_size=3, padding=1))
        self.branch4 = nn.Sequential(nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True), conv_block(in_channels, pool_proj, kernel_size=1))

    def _forward(self, x) -> List[torch.Tensor]:
        return [self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)]

    def forward(self, x):
        return torch.cat(self._forward(x), 1)


class InceptionAux(nn.Module):
    def __init__(self, in_channels, num_classes, dropout=0.7):
        super().__init__()
        self.conv = BasicConv2d(in_channels, 8, kernel_size=1)
        self.fc1 = nn.Linear(32, 16)
        self.fc2 = nn.Linear(16, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(x, (2, 2))
        x = self.conv(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x), inplace=True)
        return self.fc2(self.dropout(x))


class TinyGoogLeNet(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.conv1 = BasicConv2d(3, 8, kernel_size=3, stride=2, padding=1)
        self.inception3a = Inception(8, 4, 4, 4, 2, 4, 4)
        self.maxpool = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception4a = Inception(16, 4, 4, 6, 2, 4, 4)
        self.aux1 = InceptionAux(16, num_classes)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(18, num_classes)
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                torch.nn.init.trunc_normal_(m.weight, mean=0.0, std=0.1, a=-2, b=2)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def forward(self, x):
        x = self.inception3a(self.conv1(x))
        aux = self.aux1(x) if self.training else None
        x = self.inception4a(self.maxpool(x))
        x = torch.flatten(self.avgpool(x), 1)
        return GoogLeNetOutputs(self.fc(x), aux)


def channel_shuffle(x, groups: int):
    batchsize, num_channels, height, width = x.size()
    channels_per_group = num_channels // groups
    x = x.view(batchsize, groups, channels_per_group, height, width)
    x = torch.transpose(x, 1, 2).contiguous()
    return x.view(batchsize, num_channels, height, width)


class InvertedResidual(nn.Module):
    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not (1 <= stride <= 3):
            raise ValueError("illegal stride value")
        self.stride = stride
        branch_features = oup // 2
        if self.stride > 1:
            self.branch1 = nn.Sequential(self.depthwise_conv(inp, inp, 3, self.stride, 1), nn.BatchNorm2d(inp),
                                         nn.Conv2d(inp, branch_features, 1, bias=False), nn.BatchNorm2d(branch_features), nn.ReLU(inplace=True))
        else:
            self.branch1 = nn.Sequential()
        self.branch2 = nn.Sequential(
            nn.Conv2d(inp if (self.stride > 1) else branch_features, branch_features, 1, bias=False), nn.BatchNorm2d(branch_features), nn.ReLU(inplace=True),
            self.depthwise_conv(branch_features, branch_features, 3, self.stride, 1), nn.BatchNorm2d(branch_features),
            nn.Conv2d(branch_features, branch_features, 1, bias=False), nn.BatchNorm2d(branch_features), nn.ReLU(inplace=True))

    @staticmethod
    def depthwise_conv(i, o, kernel_size, stride=1, padding=0, bias=False):
        return nn.Conv2d(i, o, kernel_size, stride, padding, bias=bias, groups=i)

    def forward(self, x):
        if self.stride == 1:
            x1, x2 = x.chunk(2, dim=1)
            out = torch.cat((x1, self.branch2(x2)), dim=1)
        else:
            out = torch.cat((self.branch1(x), self.branch2(x)), dim=1)
        return channel_shuffle(out, 2)


class GhostModule(nn.Module):
    def __init__(self, inp, oup, kernel_size=1, ratio=2, dw_size=3, stride=1, relu=True):
        super(GhostModule, self).__init__()
        self.oup = oup
        init_channels = math.ceil(oup / ratio)
        new_channels = init_channels * (ratio - 1)
        self.primary_conv = nn.Sequential(nn.Conv2d(inp, init_channels, kernel_size, stride, kernel_size // 2, bias=False), nn.BatchNorm2d(init_channels), nn.ReLU(inplace=True) if relu else nn.Sequential())
        self.cheap_operation = nn.Sequential(nn.Conv2d(init_channels, new_channels, dw_size, 1, dw_size // 2, groups=init_channels, bias=False), nn.BatchNorm2d(new_channels), nn.ReLU(inplace=True) if relu else nn.Sequential())

    def forward(self, x):
        x1 = self.primary_conv(x)
        x2 = self.cheap_operation(x1)
        return torch.cat([x1, x2], dim=1)[:, :self.oup, :, :]


class CBAM(nn.Module):
    def __init__(self, channels, ratio=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.Conv2d(channels, channels // ratio, 1, bias=False), nn.ReLU(), nn.Conv2d(channels // ratio, channels, 1, bias=False))
        self.spatial = nn.Conv2d(2, 1, 7, padding=3, bias=False)

    def forward(self, x):
        x = x * torch.sigmoid(self.mlp(F.adaptive_avg_pool2d(x, 1)) + self.mlp(F.adaptive_max_pool2d(x, 1)))
        pooled = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], dim=1)
        return x * torch.sigmoid(self.spatial(pooled))


x, y = torch.randn(4, 3, 12, 12), torch.tensor([0, 3, 1, 2])
google = TinyGoogLeNet()
fwd = torch.compile(google)
opt = torch.optim.RMSprop(google.parameters(), lr=1e-3, alpha=0.9, eps=1.0, momentum=0.9)
for step in range(2):
    out = fwd(x)
    loss = F.cross_entropy(out.logits, y) + 0.3 * F.cross_entropy(out.aux_logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"google {step} {loss.item():.4f}", type(out).__name__, out._fields)
google.eval()
with torch.no_grad():
    print(fwd(x).aux_logits, google(x).logits.argmax(1).shape)
shuffle = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), InvertedResidual(8, 16, 2), InvertedResidual(16, 16, 1), GhostModule(16, 12), CBAM(12), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(12, 4))
print(shuffle[1])
fwd = torch.compile(shuffle)
opt = torch.optim.SGD(shuffle.parameters(), lr=0.05, momentum=0.9)
for step in range(2):
    loss = F.multi_margin_loss(fwd(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"shuffle {step} {loss.item():.4f}")
flops = 0


def count(module, inputs, output):
    global flops
    flops += output.numel() * module.weight[0].numel()


hooks = [m.register_forward_hook(count) for m in shuffle.modules() if isinstance(m, nn.Conv2d)]
shuffle.eval()
shuffle(x)
for h in hooks:
    h.remove()
print(flops, len(hooks))
