import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBlock(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1, bias=False), nn.BatchNorm2d(out_ch), nn.PReLU(),
            nn.Dropout2d(0.1),
        )

    def forward(self, x):
        return self.conv(x)


class SegNet(nn.Module):
    """Encoder and decoder with pooling indices."""

    def __init__(self, n_classes):
        super().__init__()
        self.enc1, self.enc2 = ConvBlock(3, 6), ConvBlock(6, 8)
        self.dec2, self.dec1 = ConvBlock(8, 6), ConvBlock(6, 6)
        self.head = nn.Conv2d(6, n_classes, 1)

    def forward(self, x):
        x = self.enc1(x)
        size1 = x.size()
        x, ind1 = F.max_pool2d(x, kernel_size=2, stride=2, return_indices=True)
        x = self.enc2(x)
        size2 = x.size()
        x, ind2 = F.max_pool2d(x, 2, 2, return_indices=True)
        x = self.dec2(F.max_unpool2d(x, ind2, 2, stride=2, output_size=size2))
        x = self.dec1(F.max_unpool2d(x, ind1, 2, stride=2, output_size=size1))
        return self.head(x)


class FCN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.c1 = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.c2 = nn.Conv2d(6, 8, 3, stride=2, padding=2, dilation=2)
        self.score = nn.Conv2d(6, n_classes, 1)
        self.up1 = nn.ConvTranspose2d(8, n_classes, kernel_size=4, stride=2, padding=1, bias=False)
        self.up2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)

    def forward(self, x):
        a = F.leaky_relu(self.c1(x), 0.1)
        b = F.leaky_relu(self.c2(a), 0.1)
        return self.up2(self.up1(b) + self.score(a))


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, targets):
        num_classes = logits.size(1)
        probs = F.softmax(logits, dim=1)
        onehot = F.one_hot(targets, num_classes).permute(0, 3, 1, 2).float()
        dims = (0, 2, 3)
        intersection = torch.sum(probs * onehot, dims)
        cardinality = torch.sum(probs + onehot, dims)
        dice = (2.0 * intersection + self.smooth) / (cardinality + self.smooth)
        return 1 - dice.mean()


class TverskyLoss(nn.Module):
    def __init__(self, alpha=0.3, beta=0.7):
        super().__init__()
        self.alpha, self.beta = alpha, beta

    def forward(self, logits, targets):
        p = torch.sigmoid(logits[:, 1]).flatten()
        t = (targets == 1).float().flatten()
        tp = (p * t).sum()
        fp = ((1 - t) * p).sum()
        fn = (t * (1 - p)).sum()
        return 1 - (tp + 1) / (tp + self.alpha * fp + self.beta * fn + 1)


def iou(pred, target, n_classes=3):
    ious = []
    pred, target = pred.view(-1), target.view(-1)
    for cls in range(n_classes):
        p, t = pred == cls, target == cls
        inter = (p & t).sum().item()
        union = (p | t).sum().item()
        ious.append(float("nan") if union == 0 else inter / union)
    return ious


def lr_lambda(step):
    return (1 - step / 5) ** 0.9


torch.manual_seed(21)
images = torch.randn(2, 3, 8, 8)
masks = torch.randint(0, 3, (2, 8, 8))
weights = torch.tensor([0.2, 0.5, 0.3])
for Net in (SegNet, FCN):
    net = Net(3)
    cnet = torch.compile(net)
    ce, dice, tversky = nn.CrossEntropyLoss(weight=weights), DiceLoss(), TverskyLoss()
    opt = torch.optim.SGD([
        {"params": [p for n, p in net.named_parameters() if n.endswith("bias")], "weight_decay": 0},
        {"params": [p for n, p in net.named_parameters() if not n.endswith("bias")], "weight_decay": 1e-2},
    ], lr=0.1, momentum=0.9)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=lr_lambda)
    for epoch in range(3):
        opt.zero_grad()
        logits = cnet(images)
        loss = ce(logits, masks) + dice(logits, masks) + 0.5 * tversky(logits, masks)
        loss.backward()
        opt.step()
        sched.step()
        print(f"{Net.__name__} epoch {epoch}: loss {loss.item():.4f} lr {[round(g['lr'], 4) for g in opt.param_groups]}")
    net.eval()
    with torch.no_grad():
        pred = torch.argmax(cnet(images), dim=1)
    print("IoU", ["%.3f" % v for v in iou(pred, masks)], "pixel acc", f"{(pred == masks).float().mean():.3f}")
print(DiceLoss()(torch.randn(1, 3, 4, 4), torch.zeros(1, 4, 4, dtype=torch.long)).item() > 0)
