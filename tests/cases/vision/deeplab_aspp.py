import torch
from torch import nn, Tensor
from torch.nn import functional as F
import typing as t


class ASPPConv(nn.Sequential):
    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        modules = [
            nn.Conv2d(in_channels, out_channels, 3, padding=dilation, dilation=dilation, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        ]
        super().__init__(*modules)


class ASPPPooling(nn.Sequential):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )

    def forward(self, x: Tensor) -> Tensor:
        size = x.shape[-2:]
        for mod in self:
            x = mod(x)
        return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class ASPP(nn.Module):
    def __init__(self, in_channels: int, atrous_rates: t.Sequence[int], out_channels: int = 12) -> None:
        super().__init__()
        modules: t.List[nn.Module] = []
        modules.append(nn.Sequential(nn.Conv2d(in_channels, out_channels, 1, bias=False), nn.BatchNorm2d(out_channels), nn.ReLU()))
        for rate in tuple(atrous_rates):
            modules.append(ASPPConv(in_channels, out_channels, rate))
        modules.append(ASPPPooling(in_channels, out_channels))
        self.convs = nn.ModuleList(modules)
        self.project = nn.Sequential(nn.Conv2d(len(self.convs) * out_channels, out_channels, 1, bias=False), nn.BatchNorm2d(out_channels), nn.ReLU(), nn.Dropout(0.5))

    def forward(self, x: Tensor) -> Tensor:
        _res = []
        for conv in self.convs:
            _res.append(conv(x))
        res = torch.cat(_res, dim=1)
        return self.project(res)


class SeparableConv2d(nn.Module):
    def __init__(self, cin, cout, stride=1, dilation=1):
        super().__init__()
        self.depthwise = nn.Conv2d(cin, cin, 3, stride, dilation, dilation, groups=cin, bias=False)
        self.pointwise = nn.Conv2d(cin, cout, 1, bias=False)
        self.bn = nn.BatchNorm2d(cout, momentum=0.05)

    def forward(self, x):
        return F.relu6(self.bn(self.pointwise(self.depthwise(x))))


class DeepLabV3Plus(nn.Module):
    def __init__(self, num_classes=5, aux=True):
        super().__init__()
        self.low = nn.Sequential(SeparableConv2d(3, 8, 2), SeparableConv2d(8, 8))
        self.high = nn.Sequential(SeparableConv2d(8, 16, 2), SeparableConv2d(16, 16, dilation=2))
        self.aspp = ASPP(16, [2, 4])
        self.low_proj = nn.Conv2d(8, 4, 1)
        self.classifier = nn.Sequential(SeparableConv2d(16, 12), nn.Conv2d(12, num_classes, 1))
        self.aux_classifier = nn.Conv2d(16, num_classes, 1) if aux else None

    def forward(self, x: Tensor) -> t.Dict[str, Tensor]:
        input_shape = x.shape[-2:]
        low = self.low(x)
        high = self.high(low)
        y = self.aspp(high)
        y = F.interpolate(y, size=low.shape[-2:], mode="bilinear", align_corners=False)
        y = self.classifier(torch.cat([y, self.low_proj(low)], dim=1))
        result = {"out": F.interpolate(y, size=input_shape, mode="bilinear", align_corners=False)}
        if self.aux_classifier is not None:
            result["aux"] = F.interpolate(self.aux_classifier(high), size=input_shape, mode="bilinear", align_corners=False)
        return result


class ConfusionMatrix:
    def __init__(self, num_classes):
        self.num_classes = num_classes
        self.mat = None

    def update(self, a, b):
        n = self.num_classes
        if self.mat is None:
            self.mat = torch.zeros((n, n), dtype=torch.int64, device=a.device)
        with torch.inference_mode():
            k = (a >= 0) & (a < n)
            inds = n * a[k].to(torch.int64) + b[k]
            self.mat += torch.bincount(inds, minlength=n**2).reshape(n, n)

    def compute(self):
        h = self.mat.float()
        acc_global = torch.diag(h).sum() / h.sum()
        acc = torch.diag(h) / h.sum(1)
        iu = torch.diag(h) / (h.sum(1) + h.sum(0) - torch.diag(h))
        return acc_global, acc, iu

    def __str__(self):
        acc_global, acc, iu = self.compute()
        return ("global correct: {:.1f}\naverage row correct: {}\nIoU: {}\nmean IoU: {:.1f}").format(
            acc_global.item() * 100,
            [f"{i:.1f}" for i in (acc * 100).tolist()],
            [f"{i:.1f}" for i in (iu * 100).tolist()],
            iu.mean().item() * 100,
        )


def criterion(inputs, target):
    losses = {}
    for name, x in inputs.items():
        losses[name] = nn.functional.cross_entropy(x, target, ignore_index=255)
    if len(losses) == 1:
        return losses["out"]
    return losses["out"] + 0.5 * losses["aux"]


def lovasz_grad(gt_sorted):
    p = len(gt_sorted)
    gts = gt_sorted.sum()
    intersection = gts - gt_sorted.float().cumsum(0)
    union = gts + (1 - gt_sorted).float().cumsum(0)
    jaccard = 1.0 - intersection / union
    if p > 1:
        jaccard[1:p] = jaccard[1:p] - jaccard[0:-1]
    return jaccard


def lovasz_softmax(probas, labels):
    C = probas.size(1)
    probas = probas.permute(0, 2, 3, 1).contiguous().view(-1, C)
    labels = labels.view(-1)
    losses = []
    for c in range(C):
        fg = (labels == c).float()
        errors = (fg - probas[:, c]).abs()
        errors_sorted, perm = torch.sort(errors, 0, descending=True)
        losses.append(torch.dot(errors_sorted, lovasz_grad(fg[perm.data])))
    return torch.stack(losses).mean()


torch.manual_seed(3)
net = DeepLabV3Plus()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
poly = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: (1 - i / 10) ** 0.9)
model = torch.compile(net)
x = torch.randn(2, 3, 24, 24)
y = torch.randint(0, 5, (2, 24, 24))
y[:, :2] = 255
for i in range(3):
    out = model(x)
    loss = criterion(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    poly.step()
    print(f"{i} {loss.item():.4f} lr {poly.get_last_lr()[0]:.5f}", {k: tuple(v.shape) for k, v in out.items()})
net.eval()
cm = ConfusionMatrix(5)
pred = model(x)["out"].argmax(1)
cm.update(y.flatten(), pred.flatten())
print(cm)
lov = torch.compile(lovasz_softmax, backend="aot_eager")
logits = torch.randn(1, 3, 4, 4, requires_grad=True)
l = lov(logits.softmax(1), torch.randint(0, 3, (1, 4, 4)))
l.backward()
print(f"{l.item():.5f} {logits.grad.norm().item():.5f}")
