import re
from collections import Counter, defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, n_factors=6):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, n_factors)
        self.item_factors = nn.Embedding(n_items, n_factors)
        self.user_biases = nn.Embedding(n_users, 1)
        self.item_biases = nn.Embedding(n_items, 1)
        self.user_factors.weight.data.uniform_(0, 0.05)
        self.item_factors.weight.data.uniform_(0, 0.05)

    def forward(self, user, item):
        pred = self.user_biases(user) + self.item_biases(item)
        pred += (self.user_factors(user) * self.item_factors(item)).sum(1, keepdim=True)
        return pred.squeeze()


class NCF(nn.Module):
    def __init__(self, n_users, n_items, dim=4):
        super().__init__()
        self.u, self.i = nn.Embedding(n_users, dim), nn.Embedding(n_items, dim)
        self.fc = nn.Sequential(nn.Linear(2 * dim, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, u, i):
        return self.fc(torch.cat([self.u(u), self.i(i)], dim=-1)) * 5


class SkipGram(nn.Module):
    def __init__(self, vocab_size, embed_dim):
        super(SkipGram, self).__init__()
        self.u_embeddings = nn.Embedding(vocab_size, embed_dim, sparse=False)
        self.v_embeddings = nn.Embedding(vocab_size, embed_dim, sparse=False)
        initrange = 0.5 / embed_dim
        self.u_embeddings.weight.data.uniform_(-initrange, initrange)
        self.v_embeddings.weight.data.uniform_(-0, 0)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u = self.u_embeddings(pos_u)
        emb_v = self.v_embeddings(pos_v)
        score = torch.mul(emb_u, emb_v).squeeze()
        score = torch.sum(score, dim=1)
        score = F.logsigmoid(torch.clamp(score, max=10, min=-10))
        neg_emb_v = self.v_embeddings(neg_v)
        neg_score = torch.bmm(neg_emb_v, emb_u.unsqueeze(2)).squeeze()
        neg_score = F.logsigmoid(-1 * neg_score)
        return -1 * (torch.sum(score) + torch.sum(neg_score)) / pos_u.size(0)


torch.manual_seed(9)
users, items = torch.randint(0, 5, (24,)), torch.randint(0, 7, (24,))
ratings = ((users * 3 + items) % 5 + 1).float()
loader = DataLoader(TensorDataset(users, items, ratings), batch_size=8)
for cls in (MatrixFactorization, NCF):
    model = cls(5, 7)
    net = torch.compile(model)
    opt = torch.optim.SparseAdam(model.parameters()) if False else torch.optim.Adagrad(model.parameters(), lr=0.1)
    for epoch in range(2):
        total = 0.0
        for u, i, r in loader:
            opt.zero_grad()
            loss = F.mse_loss(net(u, i).view(-1), r)
            loss.backward()
            opt.step()
            total += loss.item() * len(r)
        print(f"{cls.__name__:>22} epoch {epoch} rmse {(total / 24) ** 0.5:.4f}")

text = """We are about to study the idea of a computational process. Computational processes are abstract beings
that inhabit computers. As they evolve, processes manipulate other abstract things called data."""
words = re.findall(r"[a-z]+", text.lower())
counts = Counter(words)
vocab = {w: i for i, (w, _) in enumerate(sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])))}
print(len(vocab), counts.most_common(2), list(vocab)[:4])
window = 2
pairs = [(vocab[words[i]], vocab[words[j]]) for i in range(len(words))
         for j in range(max(0, i - window), min(len(words), i + window + 1)) if i != j]
freq = torch.tensor([counts[w] for w in vocab], dtype=torch.float).pow(0.75)
skip = SkipGram(len(vocab), 8)
skip_c = torch.compile(skip)
opt = torch.optim.SGD(skip.parameters(), lr=0.5)
for step in range(3):
    batch = torch.tensor(pairs[step * 16:(step + 1) * 16])
    neg = torch.multinomial(freq, 16 * 3, replacement=True).view(16, 3)
    opt.zero_grad()
    loss = skip_c(batch[:, 0], batch[:, 1], neg)
    loss.backward()
    opt.step()
    print(f"skip-gram {step}: {loss.item():.4f}")

cooc = defaultdict(float)
for a, b in pairs:
    cooc[a, b] += 1.0
i_idx, j_idx = torch.tensor(list(cooc)).t()
x_ij = torch.tensor(list(cooc.values()))
wi, wj = nn.Embedding(len(vocab), 4), nn.Embedding(len(vocab), 4)
bi, bj = nn.Embedding(len(vocab), 1), nn.Embedding(len(vocab), 1)


@torch.compile
def glove(i, j, x):
    weights = torch.clamp((x / 3.0) ** 0.75, max=1.0)
    err = (wi(i) * wj(j)).sum(-1) + bi(i).squeeze() + bj(j).squeeze() - torch.log(x)
    return (weights * err.pow(2)).mean()


params = [p for m in (wi, wj, bi, bj) for p in m.parameters()]
opt = torch.optim.Adagrad(params, lr=0.05)
for e in range(3):
    opt.zero_grad()
    loss = glove(i_idx, j_idx, x_ij)
    loss.backward()
    opt.step()
    print(f"glove {e}: {loss.item():.4f}")
sim = F.cosine_similarity(wi.weight[vocab["processes"]].unsqueeze(0), wi.weight)
print(sim.topk(1).indices.item() == vocab["processes"], sim.shape)
