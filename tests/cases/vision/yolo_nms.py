"""A one-stage detector: anchors, box coding, IoU, focal and smooth L1 losses, and suppression, without torchvision's ops."""
import math
from typing import List, Optional, Tuple

import torch
from torch import Tensor, nn
import torch.nn.functional as F

torch.manual_seed(7)


def autopad(k, p=None):
    return k // 2 if p is None else p


class Conv(nn.Module):
    default_act = nn.SiLU()

    def __init__(self, c1, c2, k=1, s=1, p=None, g=1, act=True):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, autopad(k, p), groups=g, bias=False)
        self.bn = nn.BatchNorm2d(c2, eps=1e-3, momentum=0.03)
        self.act = self.default_act if act is True else act if isinstance(act, nn.Module) else nn.Identity()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Bottleneck(nn.Module):
    def __init__(self, c1, c2, shortcut=True, g=1, e=0.5):
        super().__init__()
        c_ = int(c2 * e)
        self.cv1 = Conv(c1, c_, 1, 1)
        self.cv2 = Conv(c_, c2, 3, 1, g=g)
        self.add = shortcut and c1 == c2

    def forward(self, x):
        return x + self.cv2(self.cv1(x)) if self.add else self.cv2(self.cv1(x))


class C3(nn.Module):
    def __init__(self, c1, c2, n=1, shortcut=True, g=1, e=0.5):
        super().__init__()
        c_ = int(c2 * e)
        self.cv1 = Conv(c1, c_, 1, 1)
        self.cv2 = Conv(c1, c_, 1, 1)
        self.cv3 = Conv(2 * c_, c2, 1)
        self.m = nn.Sequential(*(Bottleneck(c_, c_, shortcut, g, e=1.0) for _ in range(n)))

    def forward(self, x):
        return self.cv3(torch.cat((self.m(self.cv1(x)), self.cv2(x)), 1))


class SPPF(nn.Module):
    def __init__(self, c1, c2, k=5):
        super().__init__()
        c_ = c1 // 2
        self.cv1 = Conv(c1, c_, 1, 1)
        self.cv2 = Conv(c_ * 4, c2, 1, 1)
        self.m = nn.MaxPool2d(kernel_size=k, stride=1, padding=k // 2)

    def forward(self, x):
        x = self.cv1(x)
        y1 = self.m(x)
        y2 = self.m(y1)
        return self.cv2(torch.cat((x, y1, y2, self.m(y2)), 1))


class Detector(nn.Module):
    def __init__(self, nc=2, na=2):
        super().__init__()
        self.nc, self.na = nc, na
        self.stem = Conv(3, 8, 3, 2)
        self.c3 = C3(8, 8)
        self.down = Conv(8, 16, 3, 2)
        self.sppf = SPPF(16, 16)
        self.lateral = Conv(16, 8)
        self.head = C3(16, 16, shortcut=False)
        self.out = nn.Conv2d(16, na * (nc + 4), 1)
        nn.init.constant_(self.out.bias, -math.log((1 - 0.1) / 0.1))

    def forward(self, x):
        a = self.c3(self.stem(x))
        b = self.sppf(self.down(a))
        up = F.interpolate(self.lateral(b), scale_factor=2, mode="nearest")
        y = self.out(self.head(torch.cat([up, a], dim=1)))
        bs, _, ny, nx = y.shape
        y = y.view(bs, self.na, self.nc + 4, ny, nx).permute(0, 3, 4, 1, 2).contiguous()
        y = y.view(bs, -1, self.nc + 4)
        return y[..., :4], y[..., 4:]


def make_anchors(size: int, stride: int, scales: Tuple[float, ...]) -> Tensor:
    shifts = torch.arange(0, size, dtype=torch.float32) * stride + stride / 2
    cy, cx = torch.meshgrid(shifts, shifts, indexing="ij")
    centers = torch.stack((cx, cy), dim=-1).reshape(-1, 1, 2)
    wh = torch.tensor(scales).view(1, -1, 1).expand(centers.shape[0], -1, 2)
    centers = centers.expand(-1, len(scales), -1)
    return torch.cat([centers - wh / 2, centers + wh / 2], dim=-1).reshape(-1, 4)


def box_area(boxes: Tensor) -> Tensor:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    area1, area2 = box_area(boxes1), box_area(boxes2)
    lt = torch.max(boxes1[:, None, :2], boxes2[:, :2])
    rb = torch.min(boxes1[:, None, 2:], boxes2[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    return inter / (area1[:, None] + area2 - inter)


def encode(anchors, gt):
    wh = anchors[:, 2:] - anchors[:, :2]
    c = anchors[:, :2] + 0.5 * wh
    gwh = gt[:, 2:] - gt[:, :2]
    gc = gt[:, :2] + 0.5 * gwh
    return torch.cat([(gc - c) / wh, torch.log(gwh / wh)], dim=1)


def decode(anchors, deltas, clip=math.log(1000.0 / 16)):
    wh = anchors[:, 2:] - anchors[:, :2]
    c = anchors[:, :2] + 0.5 * wh
    pc = deltas[:, :2] * wh + c
    pwh = torch.exp(torch.clamp(deltas[:, 2:], max=clip)) * wh
    return torch.cat([pc - 0.5 * pwh, pc + 0.5 * pwh], dim=1)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    order = scores.argsort(descending=True)
    keep: List[int] = []
    while order.numel() > 0:
        i = order[0].item()
        keep.append(i)
        if order.numel() == 1:
            break
        iou = box_iou(boxes[i:i + 1], boxes[order[1:]])[0]
        order = order[1:][iou <= iou_threshold]
    return torch.as_tensor(keep, dtype=torch.int64)


def sigmoid_focal_loss(inputs, targets, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"):
    p = torch.sigmoid(inputs)
    ce_loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    p_t = p * targets + (1 - p) * (1 - targets)
    loss = ce_loss * ((1 - p_t) ** gamma)
    if alpha >= 0:
        alpha_t = alpha * targets + (1 - alpha) * (1 - targets)
        loss = alpha_t * loss
    if reduction == "mean":
        loss = loss.mean()
    elif reduction == "sum":
        loss = loss.sum()
    return loss


def assign(anchors, gt_boxes, gt_labels, nc) -> Tuple[Tensor, Tensor, Optional[Tensor]]:
    iou = box_iou(gt_boxes, anchors)
    matched_vals, matches = iou.max(dim=0)
    best_gt, _ = iou.max(dim=1)
    low_quality = torch.where(iou == best_gt[:, None])[1]
    pos = matched_vals >= 0.5
    pos[low_quality] = True
    targets = torch.zeros(anchors.shape[0], nc)
    targets[pos] = F.one_hot(gt_labels[matches[pos]], nc).to(targets.dtype)
    return targets, pos, gt_boxes[matches]


model = Detector()
anchors = make_anchors(8, 2, (4.0, 8.0))
images = torch.rand(2, 3, 16, 16)
gt = [(torch.tensor([[1.0, 1.0, 6.0, 6.0], [8.0, 8.0, 15.0, 14.0]]), torch.tensor([0, 1])), (torch.tensor([[3.0, 9.0, 9.0, 15.0]]), torch.tensor([1]))]
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.937, nesterov=True, weight_decay=5e-4)
detect = torch.compile(model)
for epoch in range(3):
    deltas, logits = detect(images)
    loss_cls, loss_box = 0.0, 0.0
    for d, l, (boxes, labels) in zip(deltas, logits, gt):
        targets, pos, matched = assign(anchors, boxes, labels, 2)
        n = max(1, int(pos.sum()))
        loss_cls = loss_cls + sigmoid_focal_loss(l, targets, reduction="sum") / n
        loss_box = loss_box + F.smooth_l1_loss(d[pos], encode(anchors[pos], matched[pos]), beta=1 / 9, reduction="sum") / n
    loss = loss_cls + loss_box
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("epoch %d cls %.4f box %.4f total %.4f" % (epoch, loss_cls, loss_box, loss))
model.eval()
with torch.no_grad():
    deltas, logits = model(images)
    for d, l in zip(deltas, logits):
        scores, labels = l.sigmoid().max(dim=-1)
        boxes = decode(anchors, d).clamp(0, 16)
        top = scores.topk(20).indices
        keep = nms(boxes[top], scores[top], 0.5)
        print(len(keep), labels[top][keep][:3].tolist(), boxes[top][keep][0].round().tolist())
