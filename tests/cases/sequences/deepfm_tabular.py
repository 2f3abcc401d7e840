"""Click prediction on made-up tables: FM, DeepFM, DCN v2 and AutoInt, with AUC in plain Python."""
import math
import random
from bisect import bisect_left
from statistics import mean

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Subset, WeightedRandomSampler, random_split

random.seed(8)
torch.manual_seed(8)
FIELDS = [5, 7, 3]


class Clicks(Dataset):
    def __init__(self, n=64):
        rows = [[random.randrange(k) for k in FIELDS] for _ in range(n)]
        self.rows = [(r, random.random(), random.gauss(0, 1)) for r in rows]
        self.labels = [float((r[0] * r[1] + r[2] + 2 * d) % 4 < 1.5) for r, d, _ in self.rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        cats, a, b = self.rows[i]
        return {"cats": torch.tensor(cats), "dense": torch.tensor([a, b]), "label": self.labels[i]}


class FeaturesEmbedding(nn.Module):
    def __init__(self, field_dims, embed_dim):
        super().__init__()
        self.embedding = nn.Embedding(sum(field_dims), embed_dim)
        offsets = [0]
        for d in field_dims[:-1]:
            offsets.append(offsets[-1] + d)
        self.register_buffer("offsets", torch.tensor(offsets))
        nn.init.xavier_uniform_(self.embedding.weight.data)

    def forward(self, x):
        return self.embedding(x + self.offsets.unsqueeze(0))


class FactorizationMachine(nn.Module):
    def __init__(self, reduce_sum=True):
        super().__init__()
        self.reduce_sum = reduce_sum

    def forward(self, x):
        square_of_sum = torch.sum(x, dim=1) ** 2
        sum_of_square = torch.sum(x ** 2, dim=1)
        ix = square_of_sum - sum_of_square
        if self.reduce_sum:
            ix = torch.sum(ix, dim=1, keepdim=True)
        return 0.5 * ix


class DeepFM(nn.Module):
    def __init__(self, k=6):
        super().__init__()
        self.linear = FeaturesEmbedding(FIELDS, 1)
        self.embedding = FeaturesEmbedding(FIELDS, k)
        self.fm = FactorizationMachine()
        self.mlp = nn.Sequential(nn.Linear(len(FIELDS) * k + 2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))

    def forward(self, cats, dense):
        e = self.embedding(cats)
        return (self.linear(cats).sum(1) + self.fm(e) + self.mlp(torch.cat([e.flatten(1), dense], 1))).squeeze(1)


class CrossNetV2(nn.Module):
    def __init__(self, dim, layers=2, low_rank=4):
        super().__init__()
        self.u = nn.ParameterList([nn.Parameter(torch.randn(dim, low_rank) * 0.1) for _ in range(layers)])
        self.v = nn.ParameterList([nn.Parameter(torch.randn(low_rank, dim) * 0.1) for _ in range(layers)])
        self.b = nn.ParameterList([nn.Parameter(torch.zeros(dim)) for _ in range(layers)])

    def forward(self, x0):
        x = x0
        for u, v, b in zip(self.u, self.v, self.b):
            x = x0 * (x @ u @ v + b) + x
        return x


class DCN(nn.Module):
    def __init__(self, k=4):
        super().__init__()
        self.embedding = FeaturesEmbedding(FIELDS, k)
        dim = len(FIELDS) * k + 2
        self.cross = CrossNetV2(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, cats, dense):
        return self.out(self.cross(torch.cat([self.embedding(cats).flatten(1), dense], 1)))[:, 0]


class AutoInt(nn.Module):
    def __init__(self, k=8):
        super().__init__()
        self.embedding = FeaturesEmbedding(FIELDS, k)
        self.atten = nn.ModuleList([nn.MultiheadAttention(k, 2, batch_first=True) for _ in range(2)])
        self.res = nn.Linear(k, k)
        self.fc = nn.Linear(len(FIELDS) * k, 1)

    def forward(self, cats, dense):
        e = self.embedding(cats)
        h = e
        for att in self.atten:
            h, _ = att(h, h, h)
        return self.fc(F.relu(h + self.res(e)).flatten(1)).squeeze(-1)


def roc_auc(labels, scores):
    neg = sorted(s for l, s in zip(labels, scores) if l == 0)
    pos = [s for l, s in zip(labels, scores) if l == 1]
    wins = sum(bisect_left(neg, s) + 0.5 * neg.count(s) for s in pos)
    return wins / (len(pos) * len(neg))


data = Clicks()
train, val = random_split(data, [48, 16], generator=torch.Generator().manual_seed(42))
labels = torch.tensor([data.labels[i] for i in train.indices])
weights = torch.where(labels == 1, 1 / labels.mean(), 1 / (1 - labels.mean()))
sampler = WeightedRandomSampler(weights, num_samples=32, replacement=True, generator=torch.Generator().manual_seed(3))


def collate(batch):
    return torch.stack([b["cats"] for b in batch]), torch.stack([b["dense"] for b in batch]), torch.tensor([b["label"] for b in batch])


print(len(train), len(val), f"{labels.mean():.3f}", data[0], isinstance(train, Subset))
for cls in (DeepFM, DCN, AutoInt):
    model = cls()
    loader = DataLoader(train, batch_size=16, sampler=sampler, collate_fn=collate)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-6)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.5, patience=0)
    fwd = torch.compile(model)
    for epoch in range(3):
        model.train()
        losses = []
        for cats, dense, y in loader:
            loss = F.binary_cross_entropy_with_logits(fwd(cats, dense), y, pos_weight=torch.tensor(1.5))
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            batch = next(iter(DataLoader(val, batch_size=len(val))))
            scores = torch.sigmoid(model(batch["cats"], batch["dense"])).tolist()
        auc = roc_auc(batch["label"].tolist(), scores)
        plateau.step(auc)
        print(f"{cls.__name__:8s} epoch {epoch} loss {mean(losses):.4f} auc {auc:.3f} lr {opt.param_groups[0]['lr']:g}")
bag = nn.EmbeddingBag(10, 3, mode="mean", padding_idx=0)
print(bag(torch.tensor([1, 2, 0, 4, 5]), torch.tensor([0, 3])).shape, bag)
print(batch["label"].dtype, {k: v.shape for k, v in batch.items()})
