"""Text classification with buckets of different lengths: recompiles, dynamic=True, mark_dynamic, resets and explain-free counters."""
import collections
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence


class BagOfWords(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.fc = nn.Linear(dim, classes)
        initrange = 0.5
        self.bag.weight.data.uniform_(-initrange, initrange)
        self.fc.weight.data.uniform_(-initrange, initrange)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets):
        return self.fc(self.bag(text, offsets))


class TextCNN(nn.Module):
    def __init__(self, vocab, dim, classes, sizes=(2, 3)):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, 4, k) for k in sizes])
        self.fc = nn.Linear(4 * len(sizes), classes)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        x = [F.relu(conv(x)) for conv in self.convs]
        x = [F.max_pool1d(c, c.size(-1)).squeeze(2) for c in x]
        return self.fc(torch.cat(x, 1))


class Attentive(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.q = nn.Parameter(torch.randn(dim))
        self.fc = nn.Linear(dim, classes)

    def forward(self, ids):
        mask = ids.ne(0)
        x = self.emb(ids)
        scores = (x @ self.q).masked_fill(~mask, float("-inf"))
        w = scores.softmax(-1)
        return self.fc((w.unsqueeze(-1) * x).sum(1)), mask.sum(1)


def make_data(n=12, vocab=20):
    rng = random.Random(3)
    data = []
    for _ in range(n):
        label = rng.randrange(2)
        length = rng.randint(4, 7)
        data.append(([rng.randrange(1 + 10 * label, 10 + 10 * label) for _ in range(length)], label))
    return data


def bucket(data):
    groups = collections.defaultdict(list)
    for words, label in data:
        groups[len(words)].append((words, label))
    return [groups[k] for k in sorted(groups)]


torch.manual_seed(0)
data = make_data()
print([len(b) for b in bucket(data)], data[0])
model = TextCNN(20, 6, 2)
net = torch.compile(model, dynamic=True)
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(2):
    total = 0.0
    for group in bucket(data):
        ids = torch.tensor([w for w, _ in group])
        labels = torch.tensor([l for _, l in group])
        loss = F.cross_entropy(net(ids), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"cnn epoch {epoch} {total:.4f}")

att = Attentive(20, 6, 2)
att_c = torch.compile(att)
opt = torch.optim.SGD(att.parameters(), lr=0.5)
for start in range(0, 12, 4):
    chunk = data[start:start + 4]
    ids = pad_sequence([torch.tensor(w) for w, _ in chunk], batch_first=True)
    logits, lengths = att_c(ids)
    loss = F.cross_entropy(logits, torch.tensor([l for _, l in chunk]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"attention {tuple(ids.shape)} {loss.item():.4f} lengths {lengths.tolist()}")

bow = BagOfWords(20, 5, 2)
bow_c = torch.compile(bow)
text = torch.tensor([w for ws, _ in data[:4] for w in ws])
offsets = torch.tensor([0] + [len(ws) for ws, _ in data[:3]]).cumsum(0)
out = bow_c(text, offsets)
F.cross_entropy(out, torch.tensor([l for _, l in data[:4]])).backward()
print("bag", out.shape, f"{bow.bag.weight.grad.abs().sum():.4f}")


@torch.compile
def scale(x, factor):
    return x * factor + x.shape[0]


for n, factor in ((4, 2), (5, 2), (6, 2), (6, 3), (6, 4)):
    print(scale(torch.ones(n), factor).sum().item())
torch._dynamo.reset()
x = torch.ones(3, 4)
torch._dynamo.mark_dynamic(x, 0)
print(torch.compile(lambda t: t.sum(0) / t.shape[0])(x))
