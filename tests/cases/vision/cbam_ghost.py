"""Attention modules for CNNs (CBAM, ECA, GhostNet, coordinate attention, involution, octave) in one small ResNet."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class BasicConv(nn.Module):
    def __init__(self, in_planes, out_planes, kernel_size, stride=1, padding=0, dilation=1, groups=1, relu=True, bn=True, bias=False):
        super(BasicConv, self).__init__()
        self.out_channels = out_planes
        self.conv = nn.Conv2d(in_planes, out_planes, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias)
        self.bn = nn.BatchNorm2d(out_planes, eps=1e-5, momentum=0.01, affine=True) if bn else None
        self.relu = nn.ReLU() if relu else None

    def forward(self, x):
        x = self.conv(x)
        if self.bn is not None:
            x = self.bn(x)
        if self.relu is not None:
            x = self.relu(x)
        return x


class Flatten(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1)


def logsumexp_2d(tensor):
    tensor_flatten = tensor.view(tensor.size(0), tensor.size(1), -1)
    s, _ = torch.max(tensor_flatten, dim=2, keepdim=True)
    outputs = s + (tensor_flatten - s).exp().sum(dim=2, keepdim=True).log()
    return outputs


class ChannelGate(nn.Module):
    def __init__(self, gate_channels, reduction_ratio=4, pool_types=["avg", "max", "lp", "lse"]):
        super(ChannelGate, self).__init__()
        self.gate_channels = gate_channels
        self.mlp = nn.Sequential(Flatten(), nn.Linear(gate_channels, gate_channels // reduction_ratio), nn.ReLU(), nn.Linear(gate_channels // reduction_ratio, gate_channels))
        self.pool_types = pool_types

    def forward(self, x):
        channel_att_sum = None
        for pool_type in self.pool_types:
            if pool_type == "avg":
                avg_pool = F.avg_pool2d(x, (x.size(2), x.size(3)), stride=(x.size(2), x.size(3)))
                channel_att_raw = self.mlp(avg_pool)
            elif pool_type == "max":
                max_pool = F.max_pool2d(x, (x.size(2), x.size(3)), stride=(x.size(2), x.size(3)))
                channel_att_raw = self.mlp(max_pool)
            elif pool_type == "lp":
                lp_pool = F.lp_pool2d(x, 2, (x.size(2), x.size(3)), stride=(x.size(2), x.size(3)))
                channel_att_raw = self.mlp(lp_pool)
            elif pool_type == "lse":
                channel_att_raw = self.mlp(logsumexp_2d(x))
            if channel_att_sum is None:
                channel_att_sum = channel_att_raw
            else:
                channel_att_sum = channel_att_sum + channel_att_raw
        scale = F.sigmoid(channel_att_sum).unsqueeze(2).unsqueeze(3).expand_as(x)
        return x * scale


class ChannelPool(nn.Module):
    def forward(self, x):
        return torch.cat((torch.max(x, 1)[0].unsqueeze(1), torch.mean(x, 1).unsqueeze(1)), dim=1)


class SpatialGate(nn.Module):
    def __init__(self, kernel_size=7):
        super(SpatialGate, self).__init__()
        self.compress = ChannelPool()
        self.spatial = BasicConv(2, 1, kernel_size, stride=1, padding=(kernel_size - 1) // 2, relu=False)

    def forward(self, x):
        return x * F.sigmoid(self.spatial(self.compress(x)))


class CBAM(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ChannelGate, self.SpatialGate = ChannelGate(c), SpatialGate()

    def forward(self, x):
        return self.SpatialGate(self.ChannelGate(x))


class ECA(nn.Module):
    def __init__(self, channels, gamma=2, b=1):
        super().__init__()
        t = int(abs((math.log2(channels) + b) / gamma))
        k = t if t % 2 else t + 1
        self.conv = nn.Conv1d(1, 1, kernel_size=k, padding=(k - 1) // 2, bias=False)

    def forward(self, x):
        y = x.mean((2, 3), keepdim=True)
        y = self.conv(y.squeeze(-1).transpose(-1, -2)).transpose(-1, -2).unsqueeze(-1)
        return x * y.sigmoid().expand_as(x)


class CoordAtt(nn.Module):
    def __init__(self, c, r=2):
        super().__init__()
        self.pool_h, self.pool_w = nn.AdaptiveAvgPool2d((None, 1)), nn.AdaptiveAvgPool2d((1, None))
        self.conv1, self.bn1, self.act = nn.Conv2d(c, c // r, 1), nn.BatchNorm2d(c // r), nn.Hardswish()
        self.conv_h, self.conv_w = nn.Conv2d(c // r, c, 1), nn.Conv2d(c // r, c, 1)

    def forward(self, x):
        n, c, h, w = x.size()
        x_h, x_w = self.pool_h(x), self.pool_w(x).permute(0, 1, 3, 2)
        y = self.act(self.bn1(self.conv1(torch.cat([x_h, x_w], dim=2))))
        x_h, x_w = torch.split(y, [h, w], dim=2)
        return x * self.conv_w(x_w.permute(0, 1, 3, 2)).sigmoid() * self.conv_h(x_h).sigmoid()


class GhostModule(nn.Module):
    def __init__(self, inp, oup, ratio=2, dw_size=3):
        super().__init__()
        self.oup = oup
        init_channels = math.ceil(oup / ratio)
        new_channels = init_channels * (ratio - 1)
        self.primary_conv = BasicConv(inp, init_channels, 1)
        self.cheap_operation = BasicConv(init_channels, new_channels, dw_size, padding=dw_size // 2, groups=init_channels)

    def forward(self, x):
        x1 = self.primary_conv(x)
        x2 = self.cheap_operation(x1)
        return torch.cat([x1, x2], dim=1)[:, : self.oup, :, :]


class Involution(nn.Module):
    def __init__(self, channels, kernel_size=3, group_channels=4):
        super().__init__()
        self.k, self.gc, self.groups = kernel_size, group_channels, channels // group_channels
        self.reduce, self.span = nn.Conv2d(channels, channels // 2, 1), nn.Conv2d(channels // 2, kernel_size**2 * self.groups, 1)
        self.unfold = nn.Unfold(kernel_size, 1, (kernel_size - 1) // 2, 1)

    def forward(self, x):
        weight = self.span(self.reduce(x))
        b, c, h, w = weight.shape
        weight = weight.view(b, self.groups, self.k**2, h, w).unsqueeze(2)
        out = self.unfold(x).view(b, self.groups, self.gc, self.k**2, h, w)
        return (weight * out).sum(dim=3).view(b, -1, h, w)


class BlurPool(nn.Module):
    def __init__(self, channels):
        super().__init__()
        a = torch.tensor([1.0, 2.0, 1.0])
        filt = a[:, None] * a[None, :]
        filt = filt / torch.sum(filt)
        self.channels = channels
        self.register_buffer("filt", filt[None, None, :, :].repeat((channels, 1, 1, 1)))
        self.pad = nn.ReflectionPad2d(1)

    def forward(self, x):
        return F.conv2d(self.pad(x), self.filt, stride=2, groups=x.shape[1])


class Net(nn.Module):
    def __init__(self, num_classes=6):
        super().__init__()
        self.stem = BasicConv(3, 8, 3, padding=1)
        self.layers = nn.ModuleList([CBAM(8), ECA(8), CoordAtt(8), GhostModule(8, 8), Involution(8)])
        self.down = BlurPool(8)
        self.gem_p = nn.Parameter(torch.ones(1) * 3)
        self.fc = nn.Linear(8, num_classes)

    def gem(self, x, eps=1e-6):
        return F.avg_pool2d(x.clamp(min=eps).pow(self.gem_p), (x.size(-2), x.size(-1))).pow(1.0 / self.gem_p).flatten(1)

    def forward(self, x):
        x = self.stem(x)
        for i, layer in enumerate(self.layers):
            x = x + layer(x)
            if i == 1:
                x = self.down(x)
        return self.fc(self.gem(x))


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=None, reduction="mean"):
        super().__init__()
        self.gamma, self.alpha, self.reduction = gamma, alpha, reduction

    def forward(self, logits, target):
        logpt = F.log_softmax(logits, dim=1).gather(1, target.view(-1, 1)).view(-1)
        pt = logpt.exp()
        if self.alpha is not None:
            logpt = logpt * self.alpha.gather(0, target)
        loss = -1 * (1 - pt) ** self.gamma * logpt
        return loss.mean() if self.reduction == "mean" else loss.sum()


torch.manual_seed(1)
net = Net()
shapes = {}
handles = [m.register_forward_hook(lambda m, i, o, n=n: shapes.update({n: tuple(o.shape)})) for n, m in net.named_children() if not isinstance(m, nn.ModuleList)]
net(torch.randn(2, 3, 12, 12))
print(shapes)
for h in handles:
    h.remove()
model = torch.compile(net, backend="aot_eager")
crit = FocalLoss(alpha=torch.tensor([0.2, 0.1, 0.3, 0.2, 0.1, 0.1]))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3, alpha=0.9, momentum=0.9, eps=1e-3)
x, y = torch.randn(4, 3, 12, 12), torch.tensor([0, 3, 5, 2])
for i in range(4):
    loss = crit(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, round(loss.item(), 5), round(net.gem_p.item(), 5))
