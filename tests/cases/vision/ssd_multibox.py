"""SSD: prior boxes, jaccard matching, hard negative mining, multibox loss, NMS decoding."""
from itertools import product as product
from math import sqrt as sqrt
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init

torch.manual_seed(11)


class L2Norm(nn.Module):
    def __init__(self, n_channels, scale):
        super(L2Norm, self).__init__()
        self.n_channels = n_channels
        self.gamma = scale or None
        self.eps = 1e-10
        self.weight = nn.Parameter(torch.Tensor(self.n_channels))
        self.reset_parameters()

    def reset_parameters(self):
        init.constant_(self.weight, self.gamma)

    def forward(self, x):
        norm = x.pow(2).sum(dim=1, keepdim=True).sqrt() + self.eps
        x = torch.div(x, norm)
        return self.weight.unsqueeze(0).unsqueeze(2).unsqueeze(3).expand_as(x) * x


class PriorBox(object):
    def __init__(self, cfg):
        self.image_size, self.feature_maps = cfg["min_dim"], cfg["feature_maps"]
        self.variance = cfg["variance"] or [0.1]
        self.min_sizes, self.max_sizes, self.steps, self.aspect_ratios, self.clip = (cfg[k] for k in ("min_sizes", "max_sizes", "steps", "aspect_ratios", "clip"))
        for v in self.variance:
            if v <= 0:
                raise ValueError("Variances must be greater than 0")

    def forward(self):
        mean = []
        for k, f in enumerate(self.feature_maps):
            for i, j in product(range(f), repeat=2):
                f_k = self.image_size / self.steps[k]
                cx, cy = (j + 0.5) / f_k, (i + 0.5) / f_k
                s_k = self.min_sizes[k] / self.image_size
                mean += [cx, cy, s_k, s_k]
                s_k_prime = sqrt(s_k * (self.max_sizes[k] / self.image_size))
                mean += [cx, cy, s_k_prime, s_k_prime]
                for ar in self.aspect_ratios[k]:
                    mean += [cx, cy, s_k * sqrt(ar), s_k / sqrt(ar)]
                    mean += [cx, cy, s_k / sqrt(ar), s_k * sqrt(ar)]
        output = torch.Tensor(mean).view(-1, 4)
        if self.clip:
            output.clamp_(max=1, min=0)
        return output


def point_form(boxes):
    return torch.cat((boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2), 1)


def intersect(box_a, box_b):
    A, B = box_a.size(0), box_b.size(0)
    max_xy = torch.min(box_a[:, 2:].unsqueeze(1).expand(A, B, 2), box_b[:, 2:].unsqueeze(0).expand(A, B, 2))
    min_xy = torch.max(box_a[:, :2].unsqueeze(1).expand(A, B, 2), box_b[:, :2].unsqueeze(0).expand(A, B, 2))
    inter = torch.clamp((max_xy - min_xy), min=0)
    return inter[:, :, 0] * inter[:, :, 1]


def jaccard(box_a, box_b):
    inter = intersect(box_a, box_b)
    area_a = ((box_a[:, 2] - box_a[:, 0]) * (box_a[:, 3] - box_a[:, 1])).unsqueeze(1).expand_as(inter)
    area_b = ((box_b[:, 2] - box_b[:, 0]) * (box_b[:, 3] - box_b[:, 1])).unsqueeze(0).expand_as(inter)
    return inter / (area_a + area_b - inter)


def encode(matched, priors, variances):
    g_cxcy = (matched[:, :2] + matched[:, 2:]) / 2 - priors[:, :2]
    g_cxcy /= (variances[0] * priors[:, 2:])
    g_wh = (matched[:, 2:] - matched[:, :2]) / priors[:, 2:]
    g_wh = torch.log(g_wh) / variances[1]
    return torch.cat([g_cxcy, g_wh], 1)


def decode(loc, priors, variances):
    boxes = torch.cat((priors[:, :2] + loc[:, :2] * variances[0] * priors[:, 2:], priors[:, 2:] * torch.exp(loc[:, 2:] * variances[1])), 1)
    boxes[:, :2] -= boxes[:, 2:] / 2
    boxes[:, 2:] += boxes[:, :2]
    return boxes


def match(threshold, truths, priors, variances, labels, loc_t, conf_t, idx):
    overlaps = jaccard(truths, point_form(priors))
    best_prior_overlap, best_prior_idx = overlaps.max(1, keepdim=True)
    best_truth_overlap, best_truth_idx = overlaps.max(0, keepdim=True)
    best_truth_idx.squeeze_(0)
    best_truth_overlap.squeeze_(0)
    best_prior_idx.squeeze_(1)
    best_prior_overlap.squeeze_(1)
    best_truth_overlap.index_fill_(0, best_prior_idx, 2)
    for j in range(best_prior_idx.size(0)):
        best_truth_idx[best_prior_idx[j]] = j
    matches = truths[best_truth_idx]
    conf = labels[best_truth_idx] + 1
    conf[best_truth_overlap < threshold] = 0
    loc_t[idx] = encode(matches, priors, variances)
    conf_t[idx] = conf


def log_sum_exp(x):
    x_max = x.data.max()
    return torch.log(torch.sum(torch.exp(x - x_max), 1, keepdim=True)) + x_max


def nms(boxes, scores, overlap=0.5, top_k=20):
    keep = scores.new(scores.size(0)).zero_().long()
    if boxes.numel() == 0:
        return keep, 0
    x1, y1, x2, y2 = boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3]
    area = torch.mul(x2 - x1, y2 - y1)
    v, idx = scores.sort(0)
    idx = idx[-top_k:]
    count = 0
    while idx.numel() > 0:
        i = idx[-1]
        keep[count] = i
        count += 1
        if idx.size(0) == 1:
            break
        idx = idx[:-1]
        xx1, yy1 = torch.clamp(x1[idx], min=x1[i].item()), torch.clamp(y1[idx], min=y1[i].item())
        xx2, yy2 = torch.clamp(x2[idx], max=x2[i].item()), torch.clamp(y2[idx], max=y2[i].item())
        inter = torch.clamp(xx2 - xx1, min=0.0) * torch.clamp(yy2 - yy1, min=0.0)
        rem_areas = torch.index_select(area, 0, idx)
        IoU = inter / ((rem_areas - inter) + area[i])
        idx = idx[IoU.le(overlap)]
    return keep, count


class MultiBoxLoss(nn.Module):
    def __init__(self, num_classes, overlap_thresh, neg_pos):
        super().__init__()
        self.num_classes, self.threshold, self.negpos_ratio, self.variance = num_classes, overlap_thresh, neg_pos, [0.1, 0.2]

    def forward(self, predictions, targets):
        loc_data, conf_data, priors = predictions
        num, num_priors = loc_data.size(0), priors.size(0)
        loc_t, conf_t = torch.Tensor(num, num_priors, 4), torch.LongTensor(num, num_priors)
        for idx in range(num):
            match(self.threshold, targets[idx][:, :-1].data, priors.data, self.variance, targets[idx][:, -1].data, loc_t, conf_t, idx)
        pos = conf_t > 0
        pos_idx = pos.unsqueeze(pos.dim()).expand_as(loc_data)
        loss_l = F.smooth_l1_loss(loc_data[pos_idx].view(-1, 4), loc_t[pos_idx].view(-1, 4), reduction="sum")
        batch_conf = conf_data.view(-1, self.num_classes)
        loss_c = log_sum_exp(batch_conf) - batch_conf.gather(1, conf_t.view(-1, 1))
        loss_c = loss_c.view(num, -1)
        loss_c[pos] = 0
        _, loss_idx = loss_c.sort(1, descending=True)
        _, idx_rank = loss_idx.sort(1)
        num_pos = pos.long().sum(1, keepdim=True)
        num_neg = torch.clamp(self.negpos_ratio * num_pos, max=pos.size(1) - 1)
        neg = idx_rank < num_neg.expand_as(idx_rank)
        pos_idx, neg_idx = pos.unsqueeze(2).expand_as(conf_data), neg.unsqueeze(2).expand_as(conf_data)
        conf_p = conf_data[(pos_idx + neg_idx).gt(0)].view(-1, self.num_classes)
        loss_c = F.cross_entropy(conf_p, conf_t[(pos + neg).gt(0)], reduction="sum")
        N = num_pos.data.sum().double()
        return loss_l.double() / N, loss_c.double() / N


class SSD(nn.Module):
    def __init__(self, cfg, num_classes):
        super().__init__()
        self.num_classes = num_classes
        self.priors = PriorBox(cfg).forward()
        self.base = nn.ModuleList([nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Conv2d(8, 16, 3, stride=2, padding=1)])
        self.L2Norm = L2Norm(16, 20)
        self.extras = nn.ModuleList([nn.Conv2d(16, 8, 1), nn.Conv2d(8, 16, 3, stride=2, padding=1)])
        self.loc = nn.ModuleList([nn.Conv2d(16, 4 * 4, 3, padding=1) for _ in range(2)])
        self.conf = nn.ModuleList([nn.Conv2d(16, 4 * num_classes, 3, padding=1) for _ in range(2)])

    def forward(self, x):
        sources, loc, conf = list(), list(), list()
        for layer in self.base:
            x = F.relu(layer(x), inplace=True)
        sources.append(self.L2Norm(x))
        for k, v in enumerate(self.extras):
            x = F.relu(v(x), inplace=True)
            if k % 2 == 1:
                sources.append(x)
        for (x, l, c) in zip(sources, self.loc, self.conf):
            loc.append(l(x).permute(0, 2, 3, 1).contiguous())
            conf.append(c(x).permute(0, 2, 3, 1).contiguous())
        loc = torch.cat([o.view(o.size(0), -1) for o in loc], 1)
        conf = torch.cat([o.view(o.size(0), -1) for o in conf], 1)
        return loc.view(loc.size(0), -1, 4), conf.view(conf.size(0), -1, self.num_classes), self.priors


cfg = dict(min_dim=16, feature_maps=[4, 2], steps=[4, 8], min_sizes=[4, 8], max_sizes=[8, 13], aspect_ratios=[[2], [2]], variance=[0.1, 0.2], clip=True)
net = SSD(cfg, 3)
print("priors", net.priors.shape, net.priors[:3])
criterion = MultiBoxLoss(3, 0.5, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=5e-3, momentum=0.9, weight_decay=5e-4)
cnet = torch.compile(net)
images = torch.rand(2, 3, 16, 16)
targets = [torch.tensor([[0.1, 0.1, 0.5, 0.5, 0.0], [0.6, 0.5, 0.9, 0.95, 1.0]]), torch.tensor([[0.3, 0.2, 0.8, 0.7, 1.0]])]
for iteration in range(4):
    out = cnet(images)
    optimizer.zero_grad()
    loss_l, loss_c = criterion(out, targets)
    loss = loss_l + loss_c
    loss.backward()
    optimizer.step()
    print("iter " + repr(iteration) + " || Loss: %.4f ||" % (loss.item()), loss_l.dtype, end=" ")
    print(f"loc {loss_l.item():.4f} conf {loss_c.item():.4f}")
with torch.no_grad():
    loc, conf, priors = net(images)
    conf = F.softmax(conf, dim=-1)
    boxes = decode(loc[0], priors, [0.1, 0.2])
    for cl in range(1, 3):
        scores = conf[0, :, cl]
        keep, count = nms(boxes, scores, 0.45)
        print(cl, count, keep[:count][:4].tolist(), scores[keep[:2]], boxes[keep[0]])
