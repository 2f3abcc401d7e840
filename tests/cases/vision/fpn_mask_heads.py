# Feature pyramid, RPN anchors, box coding, NMS, RoI align by grid_sample and a mask head
import math
from collections import OrderedDict
from typing import Dict, List
import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_bn(cin, cout, k=3, s=1):
    return nn.Sequential(nn.Conv2d(cin, cout, k, s, k // 2, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class FPN(nn.Module):
    def __init__(self, in_channels: List[int], out: int):
        super().__init__()
        self.inner_blocks = nn.ModuleList(nn.Conv2d(c, out, 1) for c in in_channels)
        self.layer_blocks = nn.ModuleList(nn.Conv2d(out, out, 3, padding=1) for _ in in_channels)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_uniform_(m.weight, a=1)
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)

    def forward(self, x: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
        names = list(x.keys())
        x = list(x.values())
        last_inner = self.inner_blocks[-1](x[-1])
        results = [self.layer_blocks[-1](last_inner)]
        for idx in range(len(x) - 2, -1, -1):
            inner_lateral = self.inner_blocks[idx](x[idx])
            feat_shape = inner_lateral.shape[-2:]
            inner_top_down = F.interpolate(last_inner, size=feat_shape, mode="nearest")
            last_inner = inner_lateral + inner_top_down
            results.insert(0, self.layer_blocks[idx](last_inner))
        names.append("pool")
        results.append(F.max_pool2d(results[-1], 1, 2, 0))
        return OrderedDict([(k, v) for k, v in zip(names, results)])


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, s=2)
        self.c3 = conv_bn(8, 12, s=2)
        self.c4 = conv_bn(12, 16, s=2)

    def forward(self, x):
        c2 = self.stem(x)
        c3 = self.c3(c2)
        return OrderedDict(c2=c2, c3=c3, c4=self.c4(c3))


class RPNHead(nn.Module):
    def __init__(self, c, a):
        super().__init__()
        self.conv = nn.Conv2d(c, c, 3, 1, 1)
        self.cls_logits = nn.Conv2d(c, a, 1)
        self.bbox_pred = nn.Conv2d(c, a * 4, 1)
        for l in self.children():
            torch.nn.init.normal_(l.weight, std=0.01)
            torch.nn.init.constant_(l.bias, 0)

    def forward(self, feats):
        logits, boxes = [], []
        for f in feats:
            t = F.relu(self.conv(f))
            l, b = self.cls_logits(t), self.bbox_pred(t)
            n, a, h, w = l.shape
            logits.append(l.view(n, -1, 1, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 1))
            boxes.append(b.view(n, -1, 4, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 4))
        return torch.cat(logits, 1), torch.cat(boxes, 1)


def make_anchors(shapes, strides, sizes=(8.0, 16.0, 32.0, 64.0), ratios=(0.5, 1.0, 2.0)):
    out = []
    for (h, w), s, size in zip(shapes, strides, sizes):
        r = torch.tensor(ratios)
        hs, ws = torch.sqrt(r) * size, torch.sqrt(1 / r) * size
        base = (torch.stack([-ws, -hs, ws, hs], dim=1) / 2).round()
        sx, sy = torch.arange(w) * s, torch.arange(h) * s
        yy, xx = torch.meshgrid(sy, sx, indexing="ij")
        shifts = torch.stack((xx.reshape(-1), yy.reshape(-1), xx.reshape(-1), yy.reshape(-1)), dim=1)
        out.append((shifts.view(-1, 1, 4) + base.view(1, -1, 4)).reshape(-1, 4))
    return torch.cat(out)


def encode(gt, anchors):
    w, h = anchors[:, 2] - anchors[:, 0], anchors[:, 3] - anchors[:, 1]
    cx, cy = anchors[:, 0] + 0.5 * w, anchors[:, 1] + 0.5 * h
    gw, gh = gt[:, 2] - gt[:, 0], gt[:, 3] - gt[:, 1]
    gx, gy = gt[:, 0] + 0.5 * gw, gt[:, 1] + 0.5 * gh
    return torch.stack(((gx - cx) / w, (gy - cy) / h, torch.log(gw / w), torch.log(gh / h)), dim=1)


def decode(d, anchors):
    w, h = anchors[:, 2] - anchors[:, 0], anchors[:, 3] - anchors[:, 1]
    cx, cy = anchors[:, 0] + 0.5 * w, anchors[:, 1] + 0.5 * h
    dx, dy, dw, dh = d.unbind(-1)
    dw, dh = dw.clamp(max=math.log(1000.0 / 16)), dh.clamp(max=math.log(1000.0 / 16))
    x, y, w, h = dx * w + cx, dy * h + cy, dw.exp() * w, dh.exp() * h
    return torch.stack([x - 0.5 * w, y - 0.5 * h, x + 0.5 * w, y + 0.5 * h], -1)


def box_iou(a, b):
    area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])
    lt, rb = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (area(a)[:, None] + area(b) - inter)


def nms(boxes, scores, thr):
    keep, order = [], scores.argsort(descending=True)
    while order.numel() > 0:
        i = order[0].item()
        keep.append(i)
        if order.numel() == 1:
            break
        iou = box_iou(boxes[i : i + 1], boxes[order[1:]]).squeeze(0)
        order = order[1:][iou <= thr]
    return torch.as_tensor(keep)


def roi_align(feat, rois, size, stride):
    n = rois.size(0)
    H, W = feat.shape[-2:]
    t = (torch.arange(size) + 0.5) / size
    x = rois[:, 0:1] + (rois[:, 2:3] - rois[:, 0:1]) * t
    y = rois[:, 1:2] + (rois[:, 3:4] - rois[:, 1:2]) * t
    gx, gy = 2 * x / (W * stride) - 1, 2 * y / (H * stride) - 1
    grid = torch.stack((gx[:, None, :].expand(n, size, size), gy[:, :, None].expand(n, size, size)), -1)
    return F.grid_sample(feat.expand(n, -1, -1, -1), grid, align_corners=False, padding_mode="border")


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.fpn = Backbone(), FPN([8, 12, 16], 8)
        self.rpn = RPNHead(8, 3)
        self.mask_head = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 8, 2, 2), nn.ReLU(), nn.Conv2d(8, 1, 1))

    def forward(self, x):
        feats = self.fpn(self.backbone(x))
        logits, deltas = self.rpn(list(feats.values()))
        return feats, logits, deltas


torch.manual_seed(0)
det = Detector()
opt = torch.optim.SGD(det.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4, nesterov=True)
forward = torch.compile(det, backend="aot_eager")
img = torch.randn(1, 3, 32, 32)
gt = torch.tensor([[4.0, 4.0, 20.0, 18.0], [14.0, 10.0, 30.0, 31.0]])
gt_masks = (torch.rand(2, 1, 14, 14) > 0.5).float()
for step in range(3):
    feats, logits, deltas = forward(img)
    if step == 0:
        shapes = [tuple(f.shape[-2:]) for f in feats.values()]
        anchors = make_anchors(shapes, [2, 4, 8, 16])
        iou = box_iou(gt, anchors)
        best, idx = iou.max(dim=0)
        labels = torch.where(best >= 0.5, 1.0, torch.where(best < 0.3, 0.0, -1.0))
        labels[iou.argmax(dim=1)] = 1.0
        print(shapes, anchors.shape, int((labels == 1).sum()), int((labels == 0).sum()))
        targets = encode(gt[idx], anchors)
    pos, valid = labels == 1, labels >= 0
    cls = F.binary_cross_entropy_with_logits(logits[0, valid, 0], labels[valid])
    reg = F.smooth_l1_loss(deltas[0][pos], targets[pos], beta=1 / 9, reduction="sum") / valid.sum()
    mask = F.binary_cross_entropy_with_logits(det.mask_head(roi_align(feats["c2"], gt, 7, 2)), gt_masks)
    loss = cls + reg + mask
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{step}: cls {cls:.4f} reg {reg:.4f} mask {mask:.4f} total {loss.item():.5f}")
det.eval()
with torch.no_grad():
    feats, logits, deltas = forward(img)
    boxes = decode(deltas[0], anchors).clamp(0, 32)
    scores, top = logits[0, :, 0].sigmoid().topk(30)
    keep = nms(boxes[top], scores, 0.5)
    print(len(keep), keep[:6].tolist(), [round(v, 2) for v in boxes[top][keep[0]].tolist()], f"{scores[keep[0]]:.4f}")
