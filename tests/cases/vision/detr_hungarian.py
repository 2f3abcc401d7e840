"""DETR: transformer detector with a matching by hand, generalized IoU, sine positions, auxiliary losses; RetinaNet focal and CenterNet heads."""
import math
import itertools
from collections import defaultdict, deque
import datetime
import time
import torch
from torch import nn, Tensor
import torch.nn.functional as F
from typing import Optional, List, Dict


class SmoothedValue(object):
    def __init__(self, window_size=20, fmt=None):
        if fmt is None:
            fmt = "{median:.4f} ({global_avg:.4f})"
        self.deque = deque(maxlen=window_size)
        self.total = 0.0
        self.count = 0
        self.fmt = fmt

    def update(self, value, n=1):
        self.deque.append(value)
        self.count += n
        self.total += value * n

    @property
    def median(self):
        return torch.tensor(list(self.deque)).median().item()

    @property
    def avg(self):
        return torch.tensor(list(self.deque), dtype=torch.float32).mean().item()

    @property
    def global_avg(self):
        return self.total / self.count

    def __str__(self):
        return self.fmt.format(median=self.median, avg=self.avg, global_avg=self.global_avg)


class MetricLogger(object):
    def __init__(self, delimiter="\t"):
        self.meters = defaultdict(SmoothedValue)
        self.delimiter = delimiter

    def update(self, **kwargs):
        for k, v in kwargs.items():
            if isinstance(v, torch.Tensor):
                v = v.item()
            assert isinstance(v, (float, int))
            self.meters[k].update(v)

    def __getattr__(self, attr):
        if attr in self.meters:
            return self.meters[attr]
        if attr in self.__dict__:
            return self.__dict__[attr]
        raise AttributeError("'{}' object has no attribute '{}'".format(type(self).__name__, attr))

    def __str__(self):
        return self.delimiter.join("{}: {}".format(name, str(meter)) for name, meter in self.meters.items())

    def log_every(self, iterable, print_freq, header=""):
        for i, obj in enumerate(iterable):
            start = time.time()
            yield obj
            eta = datetime.timedelta(seconds=int(time.time() - start) * 0)
            if i % print_freq == 0:
                print(self.delimiter.join([header, f"[{i}/{len(iterable)}]", f"eta: {eta}", str(self)]))


def box_cxcywh_to_xyxy(x):
    x_c, y_c, w, h = x.unbind(-1)
    b = [(x_c - 0.5 * w), (y_c - 0.5 * h), (x_c + 0.5 * w), (y_c + 0.5 * h)]
    return torch.stack(b, dim=-1)


def box_area(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def generalized_box_iou(boxes1, boxes2):
    area1, area2 = box_area(boxes1), box_area(boxes2)
    lt = torch.max(boxes1[:, None, :2], boxes2[:, :2])
    rb = torch.min(boxes1[:, None, 2:], boxes2[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    union = area1[:, None] + area2 - inter
    iou = inter / union
    lt = torch.min(boxes1[:, None, :2], boxes2[:, :2])
    rb = torch.max(boxes1[:, None, 2:], boxes2[:, 2:])
    wh = (rb - lt).clamp(min=0)
    area = wh[:, :, 0] * wh[:, :, 1]
    return iou - (area - union) / area


class PositionEmbeddingSine(nn.Module):
    def __init__(self, num_pos_feats=8, temperature=10000, normalize=True, scale=None):
        super().__init__()
        self.num_pos_feats, self.temperature, self.normalize = num_pos_feats, temperature, normalize
        self.scale = 2 * math.pi if scale is None else scale

    def forward(self, mask: Tensor):
        not_mask = ~mask
        y_embed = not_mask.cumsum(1, dtype=torch.float32)
        x_embed = not_mask.cumsum(2, dtype=torch.float32)
        if self.normalize:
            eps = 1e-6
            y_embed = y_embed / (y_embed[:, -1:, :] + eps) * self.scale
            x_embed = x_embed / (x_embed[:, :, -1:] + eps) * self.scale
        dim_t = torch.arange(self.num_pos_feats, dtype=torch.float32, device=mask.device)
        dim_t = self.temperature ** (2 * torch.div(dim_t, 2, rounding_mode="trunc") / self.num_pos_feats)
        pos_x = x_embed[:, :, :, None] / dim_t
        pos_y = y_embed[:, :, :, None] / dim_t
        pos_x = torch.stack((pos_x[:, :, :, 0::2].sin(), pos_x[:, :, :, 1::2].cos()), dim=4).flatten(3)
        pos_y = torch.stack((pos_y[:, :, :, 0::2].sin(), pos_y[:, :, :, 1::2].cos()), dim=4).flatten(3)
        return torch.cat((pos_y, pos_x), dim=3).permute(0, 3, 1, 2)


class DecoderLayer(nn.Module):
    def __init__(self, d, h, ff):
        super().__init__()
        self.self_attn, self.multihead_attn = nn.MultiheadAttention(d, h), nn.MultiheadAttention(d, h)
        self.linear1, self.linear2 = nn.Linear(d, ff), nn.Linear(ff, d)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)

    def with_pos_embed(self, tensor, pos: Optional[Tensor]):
        return tensor if pos is None else tensor + pos

    def forward(self, tgt, memory, key_padding: Optional[Tensor] = None, pos: Optional[Tensor] = None, query_pos: Optional[Tensor] = None):
        q = k = self.with_pos_embed(tgt, query_pos)
        tgt = self.norm1(tgt + self.self_attn(q, k, value=tgt)[0])
        tgt2 = self.multihead_attn(query=self.with_pos_embed(tgt, query_pos), key=self.with_pos_embed(memory, pos), value=memory, key_padding_mask=key_padding)[0]
        tgt = self.norm2(tgt + tgt2)
        return self.norm3(tgt + self.linear2(F.relu(self.linear1(tgt))))


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, num_layers):
        super().__init__()
        h = [hidden_dim] * (num_layers - 1)
        self.layers = nn.ModuleList(nn.Linear(n, k) for n, k in zip([input_dim] + h, h + [output_dim]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if i < len(self.layers) - 1 else layer(x)
        return x


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("weight", torch.ones(n))
        self.register_buffer("bias", torch.zeros(n))
        self.register_buffer("running_mean", torch.zeros(n))
        self.register_buffer("running_var", torch.ones(n))

    def forward(self, x):
        w, b = self.weight.reshape(1, -1, 1, 1), self.bias.reshape(1, -1, 1, 1)
        rv, rm = self.running_var.reshape(1, -1, 1, 1), self.running_mean.reshape(1, -1, 1, 1)
        scale = w * (rv + 1e-5).rsqrt()
        return x * scale + (b - rm * scale)


class DETR(nn.Module):
    def __init__(self, num_classes=3, num_queries=4, d=16, heads=2):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), FrozenBatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1))
        self.pos = PositionEmbeddingSine(d // 2)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, heads, 2 * d, dropout=0.0), 1, enable_nested_tensor=False)
        self.decoder = nn.ModuleList([DecoderLayer(d, heads, 2 * d) for _ in range(2)])
        self.norm = nn.LayerNorm(d)
        self.query_embed = nn.Embedding(num_queries, d)
        self.class_embed, self.bbox_embed = nn.Linear(d, num_classes + 1), MLP(d, d, 4, 3)

    def forward(self, images: Tensor, mask: Tensor):
        src = self.backbone(images)
        m = F.interpolate(mask[None].float(), size=src.shape[-2:]).to(torch.bool)[0]
        pos = self.pos(m).flatten(2).permute(2, 0, 1)
        bs = src.shape[0]
        src = src.flatten(2).permute(2, 0, 1)
        query = self.query_embed.weight.unsqueeze(1).repeat(1, bs, 1)
        m = m.flatten(1)
        memory = self.encoder(src + pos, src_key_padding_mask=m)
        tgt, inter = torch.zeros_like(query), []
        for layer in self.decoder:
            tgt = layer(tgt, memory, key_padding=m, pos=pos, query_pos=query)
            inter.append(self.norm(tgt))
        hs = torch.stack(inter).transpose(1, 2)
        cls, box = self.class_embed(hs), self.bbox_embed(hs).sigmoid()
        return {"pred_logits": cls[-1], "pred_boxes": box[-1], "aux_outputs": [{"pred_logits": a, "pred_boxes": b} for a, b in zip(cls[:-1], box[:-1])]}


def linear_sum_assignment(cost: List[List[float]]):
    rows, cols = len(cost), len(cost[0])
    best = min(itertools.permutations(range(rows), cols), key=lambda p: sum(cost[r][c] for c, r in enumerate(p)))
    pairs = sorted((r, c) for c, r in enumerate(best))
    return [r for r, _ in pairs], [c for _, c in pairs]


@torch.no_grad()
def match(outputs, targets):
    bs, nq = outputs["pred_logits"].shape[:2]
    prob, box = outputs["pred_logits"].flatten(0, 1).softmax(-1), outputs["pred_boxes"].flatten(0, 1)
    ids, tbox = torch.cat([v["labels"] for v in targets]), torch.cat([v["boxes"] for v in targets])
    C = 5 * torch.cdist(box, tbox, p=1) - prob[:, ids] - 2 * generalized_box_iou(box_cxcywh_to_xyxy(box), box_cxcywh_to_xyxy(tbox))
    C = C.view(bs, nq, -1)
    sizes = [len(v["boxes"]) for v in targets]
    indices = [linear_sum_assignment(c[i].tolist()) for i, c in enumerate(C.split(sizes, -1))]
    return [(torch.as_tensor(i, dtype=torch.int64), torch.as_tensor(j, dtype=torch.int64)) for i, j in indices]


def criterion(outputs, targets, num_classes=3):
    losses: Dict[str, Tensor] = {}
    empty = torch.ones(num_classes + 1)
    empty[-1] = 0.1
    for k, out in enumerate([outputs] + outputs["aux_outputs"]):
        indices = match(out, targets)
        idx = torch.cat([torch.full_like(s, i) for i, (s, _) in enumerate(indices)]), torch.cat([s for s, _ in indices])
        target_o = torch.cat([t["labels"][J] for t, (_, J) in zip(targets, indices)])
        classes = torch.full(out["pred_logits"].shape[:2], num_classes, dtype=torch.int64)
        classes[idx] = target_o
        suffix = "" if k == 0 else f"_{k - 1}"
        losses["ce" + suffix] = F.cross_entropy(out["pred_logits"].transpose(1, 2), classes, empty)
        src, tgt = out["pred_boxes"][idx], torch.cat([t["boxes"][i] for t, (_, i) in zip(targets, indices)], dim=0)
        n = max(len(tgt), 1)
        losses["bbox" + suffix] = F.l1_loss(src, tgt, reduction="none").sum() / n
        losses["giou" + suffix] = (1 - torch.diag(generalized_box_iou(box_cxcywh_to_xyxy(src), box_cxcywh_to_xyxy(tgt)))).sum() / n
    return losses


def sigmoid_focal_loss(inputs, targets, num_boxes, alpha: float = 0.25, gamma: float = 2):
    prob = inputs.sigmoid()
    ce_loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    p_t = prob * targets + (1 - prob) * (1 - targets)
    loss = ce_loss * ((1 - p_t) ** gamma)
    if alpha >= 0:
        alpha_t = alpha * targets + (1 - alpha) * (1 - targets)
        loss = alpha_t * loss
    return loss.mean(1).sum() / num_boxes


def draw_gaussian(heat, cx, cy, r):
    ys, xs = torch.meshgrid(torch.arange(heat.size(0)), torch.arange(heat.size(1)), indexing="ij")
    g = torch.exp(-((xs - cx) ** 2 + (ys - cy) ** 2) / (2 * (r / 3) ** 2))
    torch.maximum(heat, g, out=heat)
    return heat


torch.manual_seed(0)
model = DETR()
images, mask = torch.randn(2, 3, 16, 16), torch.zeros(2, 16, 16, dtype=torch.bool)
mask[1, :, 12:] = True
targets = [{"labels": torch.tensor([1, 2]), "boxes": torch.tensor([[0.4, 0.4, 0.3, 0.3], [0.7, 0.6, 0.2, 0.4]])}, {"labels": torch.tensor([0]), "boxes": torch.tensor([[0.3, 0.5, 0.4, 0.2]])}]
net = torch.compile(model)
opt = torch.optim.AdamW([{"params": [p for n, p in model.named_parameters() if "backbone" not in n]}, {"params": [p for n, p in model.named_parameters() if "backbone" in n], "lr": 1e-4}], lr=1e-3, weight_decay=1e-4)
weights = {"ce": 1, "bbox": 5, "giou": 2}
metrics = MetricLogger(delimiter="  ")
for _ in metrics.log_every(range(3), 1, "Epoch: [0]"):
    out = net(images, mask)
    losses = criterion(out, targets)
    loss = sum(v * weights[k.split("_")[0]] for k, v in losses.items())
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    opt.step()
    metrics.update(loss=loss, **{k: v for k, v in losses.items() if "_" not in k})
print(f"{metrics.loss.global_avg:.4f}")
focal = torch.compile(sigmoid_focal_loss, backend="aot_eager", fullgraph=True)
logits = torch.randn(2, 5, 3, requires_grad=True)
l = focal(logits, (torch.rand(2, 5, 3) > 0.8).float(), 3)
l.backward()
print(f"{l.item():.5f} {logits.grad.abs().sum().item():.5f}")
heat = draw_gaussian(draw_gaussian(torch.zeros(5, 6), 1, 2, 2), 4, 3, 3)
peak = F.max_pool2d(heat[None, None], 3, 1, 1)[0, 0] == heat
print(heat.sum(), peak.nonzero().tolist())
