import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Parameter


class ContrastiveModel(nn.Module):
    def __init__(self, dim=12, out=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(inplace=True))
        self.projector = nn.Sequential(nn.Linear(16, 16, bias=False), nn.ReLU(), nn.Linear(16, out, bias=False))

    def forward(self, x_i, x_j):
        h_i, h_j = self.encoder(x_i), self.encoder(x_j)
        return h_i, h_j, self.projector(h_i), self.projector(h_j)


class NT_Xent(nn.Module):
    def __init__(self, batch_size, temperature):
        super().__init__()
        self.batch_size = batch_size
        self.temperature = temperature
        self.mask = self.mask_correlated_samples(batch_size)
        self.criterion = nn.CrossEntropyLoss(reduction="sum")
        self.similarity_f = nn.CosineSimilarity(dim=2)

    def mask_correlated_samples(self, batch_size):
        N = 2 * batch_size
        mask = torch.ones((N, N), dtype=bool)
        mask = mask.fill_diagonal_(0)
        for i in range(batch_size):
            mask[i, batch_size + i] = 0
            mask[batch_size + i, i] = 0
        return mask

    def forward(self, z_i, z_j):
        N = 2 * self.batch_size
        z = torch.cat((z_i, z_j), dim=0)
        sim = self.similarity_f(z.unsqueeze(1), z.unsqueeze(0)) / self.temperature
        sim_i_j = torch.diag(sim, self.batch_size)
        sim_j_i = torch.diag(sim, -self.batch_size)
        positive_samples = torch.cat((sim_i_j, sim_j_i), dim=0).reshape(N, 1)
        negative_samples = sim[self.mask].reshape(N, -1)
        labels = torch.zeros(N).to(positive_samples.device).long()
        logits = torch.cat((positive_samples, negative_samples), dim=1)
        loss = self.criterion(logits, labels)
        loss /= N
        return loss


class ArcMarginProduct(nn.Module):
    def __init__(self, in_features, out_features, s=30.0, m=0.50, easy_margin=False):
        super(ArcMarginProduct, self).__init__()
        self.s, self.m = s, m
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
        one_hot = torch.zeros(cosine.size())
        one_hot.scatter_(1, label.view(-1, 1).long(), 1)
        output = (one_hot * phi) + ((1.0 - one_hot) * cosine)
        output *= self.s
        return output


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        euclidean_distance = F.pairwise_distance(output1, output2, keepdim=True)
        return torch.mean((1 - label) * torch.pow(euclidean_distance, 2)
                          + label * torch.pow(torch.clamp(self.margin - euclidean_distance, min=0.0), 2))


def augment(x):
    return x + 0.1 * torch.randn_like(x), x * (torch.rand_like(x) > 0.1)


torch.manual_seed(2024)
batch_size = 4
model = ContrastiveModel()
criterion = NT_Xent(batch_size, temperature=0.5)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


@torch.compile
def train_step(x_i, x_j):
    h_i, h_j, z_i, z_j = model(x_i, x_j)
    return criterion(z_i, z_j), h_i


x = torch.randn(batch_size, 12)
for step in range(3):
    x_i, x_j = augment(x)
    optimizer.zero_grad()
    loss, h = train_step(x_i, x_j)
    loss.backward()
    optimizer.step()
    print(f"Step [{step}/3]\t Loss: {loss.item():.4f}")

labels = torch.tensor([0, 1, 2, 1])
arc = ArcMarginProduct(16, 3)
arc_c = torch.compile(arc, fullgraph=True)
feats = h.detach()
for easy in (False, True):
    arc.easy_margin = easy
    out = arc_c(feats, labels)
    loss = F.cross_entropy(out, labels)
    loss.backward()
    print("arcface", easy, round(loss.item(), 3), arc.weight.grad.norm().item() > 0)
    arc.weight.grad = None

triplet = nn.TripletMarginLoss(margin=1.0, p=2)
a, p, n = (torch.randn(5, 8, requires_grad=True) for _ in range(3))
loss = torch.compile(triplet)(a, p, n)
loss.backward()
print("triplet", loss, a.grad[0, :3])
siamese = ContrastiveLoss()
print("contrastive", siamese(a, p, torch.randint(0, 2, (5, 1)).float()))
print(nn.CosineEmbeddingLoss()(a, p, torch.tensor([1, -1, 1, -1, 1])), nn.MarginRankingLoss()(a[:, 0], p[:, 0], torch.ones(5)))
