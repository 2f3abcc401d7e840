"""ResNeXt with squeeze and excitation, plus a GoogLeNet-style inception stem."""
import collections
from functools import partial

import torch
from torch import nn, optim
import torch.utils.data as data
import numpy as np


class SEModule(nn.Module):
    def __init__(self, channels, reduction):
        super(SEModule, self).__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, channels // reduction, kernel_size=1, padding=0)
        self.relu = nn.ReLU(inplace=True)
        self.fc2 = nn.Conv2d(channels // reduction, channels, kernel_size=1, padding=0)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        module_input = x
        x = self.avg_pool(x)
        x = self.fc1(x)
        x = self.relu(x)
        x = self.fc2(x)
        x = self.sigmoid(x)
        return module_input * x


class BasicConv2d(nn.Module):
    def __init__(self, in_channels, out_channels, **kwargs):
        super(BasicConv2d, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        x = self.conv(x)
        x = self.bn(x)
        return nn.functional.relu(x, inplace=True)


class Inception(nn.Module):
    def __init__(self, in_planes, n1x1, n3x3red, n3x3, n5x5red, n5x5, pool_planes):
        super(Inception, self).__init__()
        self.b1 = BasicConv2d(in_planes, n1x1, kernel_size=1)
        self.b2 = nn.Sequential(BasicConv2d(in_planes, n3x3red, kernel_size=1), BasicConv2d(n3x3red, n3x3, kernel_size=3, padding=1))
        self.b3 = nn.Sequential(BasicConv2d(in_planes, n5x5red, kernel_size=1), BasicConv2d(n5x5red, n5x5, kernel_size=5, padding=2))
        self.b4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), BasicConv2d(in_planes, pool_planes, kernel_size=1))

    def forward(self, x):
        return torch.cat([self.b1(x), self.b2(x), self.b3(x), self.b4(x)], 1)


class SEResNeXtBottleneck(nn.Module):
    expansion = 2

    def __init__(self, inplanes, planes, groups, reduction, stride=1, downsample=None, base_width=4):
        super(SEResNeXtBottleneck, self).__init__()
        width = planes // 2 * (base_width // 4)
        self.conv1 = nn.Conv2d(inplanes, width, kernel_size=1, bias=False, stride=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, kernel_size=3, stride=stride, padding=1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, planes * self.expansion, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.se_module = SEModule(planes * self.expansion, reduction=reduction)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            residual = self.downsample(x)
        out = self.se_module(out) + residual
        out = self.relu(out)
        return out


class Net(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.stem = nn.Sequential(collections.OrderedDict([
            ("conv1", nn.Conv2d(3, 8, 3, padding=1, bias=False)),
            ("bn1", nn.BatchNorm2d(8)),
            ("relu1", nn.ReLU(inplace=True)),
            ("pool", nn.MaxPool2d(2, ceil_mode=True)),
        ]))
        self.inception = Inception(8, 2, 2, 4, 2, 2, 2)
        make = partial(SEResNeXtBottleneck, groups=2, reduction=4)
        down = nn.Sequential(nn.Conv2d(10, 16, kernel_size=1, stride=2, bias=False), nn.BatchNorm2d(16))
        self.layer1 = nn.Sequential(make(10, 8, stride=2, downsample=down), make(16, 8))
        self.avg_pool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(0.2)
        self.last_linear = nn.Linear(16, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def features(self, x):
        return self.layer1(self.inception(self.stem(x)))

    def logits(self, x):
        x = self.avg_pool(x)
        x = self.dropout(x)
        x = x.view(x.size(0), -1)
        return self.last_linear(x)

    def forward(self, x):
        return self.logits(self.features(x))


class AverageMeter(object):
    """Computes and stores the average and current value"""

    def __init__(self):
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def accuracy(output, target, topk=(1,)):
    """Computes the precision@k for the specified values of k"""
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res


torch.manual_seed(7)
net = Net()
net = torch.compile(net)
train_set = data.TensorDataset(torch.randn(8, 3, 8, 8), torch.randint(4, (8,)))
loader = data.DataLoader(train_set, batch_size=4, shuffle=True)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1], gamma=0.1)
for epoch in range(2):
    net.train()
    losses, top1, top2 = AverageMeter(), AverageMeter(), AverageMeter()
    for i, (inputs, targets) in enumerate(loader):
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        prec1, prec2 = accuracy(outputs, targets, topk=(1, 2))
        losses.update(loss.item(), inputs.size(0))
        top1.update(prec1[0], inputs.size(0))
        top2.update(prec2[0], inputs.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("Epoch: [{0}][{1}/{2}]\tLoss {loss.val:.4f} ({loss.avg:.4f})\tPrec@1 {top1.val:.3f} ({top1.avg:.3f})\tPrec@2 {top2.val:.3f}".format(
            epoch, i, len(loader), loss=losses, top1=top1, top2=top2))
    scheduler.step()
    print("lr", optimizer.param_groups[0]["lr"])
net.eval()
with torch.no_grad():
    print(net(train_set[0][0].unsqueeze(0)).shape)
state = net.state_dict()
print(len(state), list(state)[:3])
