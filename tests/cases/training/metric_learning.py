"""Metric learning: ArcFace, triplets with hard mining, contrastive pairs, center loss, prototypes and retrieval."""
import math
from itertools import combinations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Parameter

torch.manual_seed(5)


class ArcMarginProduct(nn.Module):
    def __init__(self, in_features, out_features, s=30.0, m=0.50, easy_margin=False):
        super(ArcMarginProduct, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.s = s
        self.m = m
        self.weight = Parameter(torch.FloatTensor(out_features, in_features))
        nn.init.xavier_uniform_(self.weight)
        self.easy_margin = easy_margin
        self.cos_m = math.cos(m)
        self.sin_m = math.sin(m)
        self.th = math.cos(math.pi - m)
        self.mm = math.sin(math.pi - m) * m

    def forward(self, input, label):
        cosine = F.linear(F.normalize(input), F.normalize(self.weight))
        sine = torch.sqrt((1.0 - torch.pow(cosine, 2)).clamp(0, 1))
        phi = cosine * self.cos_m - sine * self.sin_m
        if self.easy_margin:
            phi = torch.where(cosine > 0, phi, cosine)
        else:
            phi = torch.where(cosine > self.th, phi, cosine - self.mm)
        one_hot = torch.zeros(cosine.size(), device=input.device)
        one_hot.scatter_(1, label.view(-1, 1).long(), 1)
        output = (one_hot * phi) + ((1.0 - one_hot) * cosine)
        output *= self.s
        return output

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, s={self.s}, m={self.m}"


def pairwise_distances(embeddings, squared=False):
    dot_product = torch.matmul(embeddings, embeddings.t())
    square_norm = torch.diag(dot_product)
    distances = square_norm.unsqueeze(0) - 2.0 * dot_product + square_norm.unsqueeze(1)
    distances[distances < 0] = 0
    if not squared:
        mask = distances.eq(0).float()
        distances = distances + mask * 1e-16
        distances = (1.0 - mask) * torch.sqrt(distances)
    return distances


def get_anchor_positive_mask(labels):
    indices_equal = torch.eye(labels.size(0), dtype=torch.bool)
    return (labels.unsqueeze(0) == labels.unsqueeze(1)) & ~indices_equal


class BatchHardTripletLoss(nn.Module):
    def __init__(self, margin=0.3):
        super().__init__()
        self.margin = margin

    def forward(self, embeddings, labels):
        d = pairwise_distances(embeddings)
        positive = get_anchor_positive_mask(labels).float()
        hardest_positive_dist = (positive * d).max(1, keepdim=True)[0]
        negative = (labels.unsqueeze(0) != labels.unsqueeze(1)).float()
        max_dist, _ = d.max(1, keepdim=True)
        hardest_negative_dist = (d + max_dist * (1.0 - negative)).min(1, keepdim=True)[0]
        tl = hardest_positive_dist - hardest_negative_dist + self.margin
        tl[tl < 0] = 0
        return tl.mean()


class CenterLoss(nn.Module):
    def __init__(self, num_classes=3, feat_dim=8):
        super().__init__()
        self.num_classes = num_classes
        self.centers = nn.Parameter(torch.randn(num_classes, feat_dim))

    def forward(self, x, labels):
        batch_size = x.size(0)
        distmat = torch.pow(x, 2).sum(dim=1, keepdim=True).expand(batch_size, self.num_classes) + \
            torch.pow(self.centers, 2).sum(dim=1, keepdim=True).expand(self.num_classes, batch_size).t()
        distmat.addmm_(x, self.centers.t(), beta=1, alpha=-2)
        classes = torch.arange(self.num_classes).long()
        labels = labels.unsqueeze(1).expand(batch_size, self.num_classes)
        mask = labels.eq(classes.expand(batch_size, self.num_classes))
        dist = distmat * mask.float()
        return dist.clamp(min=1e-12, max=1e+12).sum() / batch_size


class SupConLoss(nn.Module):
    def __init__(self, temperature=0.07):
        super().__init__()
        self.temperature = temperature

    def forward(self, features, labels):
        batch_size = features.shape[0]
        labels = labels.contiguous().view(-1, 1)
        mask = torch.eq(labels, labels.T).float()
        contrast_count = features.shape[1]
        contrast_feature = torch.cat(torch.unbind(features, dim=1), dim=0)
        anchor_dot_contrast = torch.div(torch.matmul(contrast_feature, contrast_feature.T), self.temperature)
        logits_max, _ = torch.max(anchor_dot_contrast, dim=1, keepdim=True)
        logits = anchor_dot_contrast - logits_max.detach()
        mask = mask.repeat(contrast_count, contrast_count)
        logits_mask = torch.scatter(torch.ones_like(mask), 1, torch.arange(batch_size * contrast_count).view(-1, 1), 0)
        mask = mask * logits_mask
        exp_logits = torch.exp(logits) * logits_mask
        log_prob = logits - torch.log(exp_logits.sum(1, keepdim=True))
        mean_log_prob_pos = (mask * log_prob).sum(1) / mask.sum(1)
        return -mean_log_prob_pos.view(contrast_count, batch_size).mean()


embed = nn.Sequential(nn.Linear(6, 16), nn.PReLU(), nn.BatchNorm1d(16), nn.Linear(16, 8))
arc = ArcMarginProduct(8, 3, s=8.0)
center = CenterLoss()
print(embed, arc, sep="\n")
x = torch.randn(12, 6)
labels = torch.arange(12) % 3
x += 2 * F.one_hot(labels, 6).float()
opt = torch.optim.Adam([{"params": embed.parameters(), "lr": 1e-2}, {"params": list(arc.parameters()) + list(center.parameters())}], lr=1e-1)
hard = BatchHardTripletLoss()


@torch.compile
def losses(x, labels):
    z = embed(x)
    return F.cross_entropy(arc(z, labels), labels), hard(z, labels), center(z, labels)


for epoch in range(3):
    a, t, c = losses(x, labels)
    (a + t + 0.01 * c).backward()
    opt.step()
    opt.zero_grad()
    print(f"{epoch}: arc {a.item():.4f} triplet {t.item():.4f} center {c.item():.4f}")

embed.eval()
z = embed(x)
print(f"sup con {SupConLoss()(F.normalize(torch.stack([z, z + 0.1 * torch.randn_like(z)], 1), dim=-1), labels):.4f}")
tml = nn.TripletMarginLoss(margin=1.0, p=2, eps=1e-7, swap=True)
tmd = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: 1.0 - F.cosine_similarity(a, b))
cel = nn.CosineEmbeddingLoss(margin=0.1)
hel = nn.HingeEmbeddingLoss()
mrl = nn.MarginRankingLoss(0.2)
anchor, pos, neg = z[0:3], z[3:6], z[1:4]
target = torch.tensor([1.0, -1.0, 1.0])
print(f"{tml(anchor, pos, neg):.4f} {tmd(anchor, pos, neg):.4f} {cel(anchor, neg, target):.4f} {hel(F.pairwise_distance(anchor, pos), target):.4f} {mrl(z[:3, 0], z[3:6, 0], target):.4f}")

proto = torch.stack([z[labels == c][:2].mean(0) for c in labels.unique()])
query, ql = torch.cat([z[labels == c][2:] for c in range(3)]), torch.arange(3).repeat_interleave(2)
log_p_y = F.log_softmax(-torch.cdist(query, proto) ** 2, dim=1)
print(f"prototypes {F.nll_loss(log_p_y, ql):.4f} acc {(log_p_y.argmax(1) == ql).float().mean():.3f}")
sim = F.cosine_similarity(z[:, None], z[None], dim=-1)
sim.fill_diagonal_(float("-inf"))
values, indices = sim.topk(3, dim=1)
recall = (labels[indices] == labels[:, None]).any(1).float().mean()
precision = (labels[indices] == labels[:, None]).float().mean()
print(f"R@3 {recall:.3f} P@3 {precision:.3f}", indices[:2].tolist())
print(len(list(combinations(range(12), 2))), torch.combinations(torch.arange(4), r=2).shape, torch.pdist(z).shape)
