"""Text classification pipeline: vocabulary, samplers, collate_fn, bucketed batches, TextCNN and attention BiLSTM, metrics, early stopping, checkpoints."""
import io
import os
import json
import random
import re
import string
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence
from torch.utils.data import Dataset, DataLoader, Sampler, WeightedRandomSampler, Subset, ConcatDataset, IterableDataset, BatchSampler, SequentialSampler

random.seed(0)
torch.manual_seed(0)
PAD, UNK = "<pad>", "<unk>"
POS = "great wonderful superb lovely brilliant moving delightful".split()
NEG = "awful boring terrible dull weak painful clumsy".split()
FILL = "the a movie film plot actor scene was is and but with really very".split()


def make_corpus(n):
    out = []
    for i in range(n):
        label = int(i % 3 == 0)
        words = random.choices(FILL, k=random.randint(3, 8)) + random.choices(POS if label else NEG, k=2)
        random.shuffle(words)
        out.append((" ".join(words).capitalize() + random.choice(string.punctuation[:3]), label))
    return out


def tokenize(text):
    return re.findall(r"[a-z]+", text.lower())


class Vocab:
    def __init__(self, counter, min_freq=1, specials=(PAD, UNK)):
        self.itos = list(specials) + sorted([w for w, c in counter.items() if c >= min_freq], key=lambda w: (-counter[w], w))
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def __getitem__(self, w):
        return self.stoi.get(w, self.stoi[UNK])

    def __call__(self, tokens):
        return [self[t] for t in tokens]


class TextDataset(Dataset):
    def __init__(self, rows, vocab):
        super().__init__()
        self.rows, self.vocab = rows, vocab

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        return torch.tensor(self.vocab(tokenize(text)), dtype=torch.long), label


def collate(batch, pad_value=0):
    batch.sort(key=lambda r: len(r[0]), reverse=True)
    texts, labels = zip(*batch)
    lengths = torch.as_tensor([len(t) for t in texts])
    return pad_sequence(texts, batch_first=True, padding_value=pad_value), lengths, torch.tensor(labels, dtype=torch.float32)


class BucketSampler(Sampler):
    def __init__(self, lengths, batch_size):
        self.order, self.batch_size = sorted(range(len(lengths)), key=lambda i: lengths[i]), batch_size

    def __iter__(self):
        batches = [self.order[i:i + self.batch_size] for i in range(0, len(self.order), self.batch_size)]
        random.shuffle(batches)
        yield from batches

    def __len__(self):
        return (len(self.order) + self.batch_size - 1) // self.batch_size


class AttnBiLSTM(nn.Module):
    def __init__(self, vocab_size, emb=12, hidden=8):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, num_layers=2, bidirectional=True, batch_first=True, dropout=0.2)
        self.attn = nn.Linear(2 * hidden, 1)
        self.fc = nn.Linear(2 * hidden, 1)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=True)
        out, _ = self.lstm(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        mask = torch.arange(out.size(1))[None, :] >= lengths[:, None]
        scores = self.attn(out).squeeze(-1).masked_fill(mask, float("-inf"))
        weights = scores.softmax(-1)
        return self.fc((weights.unsqueeze(-1) * out).sum(1)).squeeze(-1), weights


class TextCNN(nn.Module):
    def __init__(self, vocab_size, emb=12, n_filters=4, sizes=(2, 3)):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv2d(1, n_filters, (k, emb)) for k in sizes])
        self.fc = nn.Linear(len(sizes) * n_filters, 1)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x):
        x = self.embedding(x).unsqueeze(1)
        conved = [F.relu(conv(x)).squeeze(3) for conv in self.convs]
        pooled = [F.max_pool1d(c, c.shape[2]).squeeze(2) for c in conved]
        return self.fc(self.dropout(torch.cat(pooled, dim=1))).squeeze(1)


class AverageMeter(object):
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


class EarlyStopping:
    def __init__(self, patience=2, delta=0.0, path=None):
        self.patience, self.delta, self.path, self.best, self.counter = patience, delta, path, None, 0

    def __call__(self, val_loss, model):
        if self.best is None or val_loss < self.best - self.delta:
            self.best, self.counter = val_loss, 0
            torch.save({"model": model.state_dict(), "best": val_loss}, self.path)
            return False
        self.counter += 1
        print(f"EarlyStopping counter: {self.counter} out of {self.patience}")
        return self.counter >= self.patience


class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


def metrics(pred, target):
    pred, target = pred.bool(), target.bool()
    tp, fp, fn = (pred & target).sum().item(), (pred & ~target).sum().item(), (~pred & target).sum().item()
    p, r = tp / max(tp + fp, 1), tp / max(tp + fn, 1)
    return {"precision": p, "recall": r, "f1": 2 * p * r / max(p + r, 1e-8), "confusion": torch.stack([(pred == i).int() @ torch.stack([(target == j) for j in (0, 1)], 1).int() for i in (0, 1)]).tolist()}


rows = make_corpus(60)
counter = Counter(t for text, _ in rows for t in tokenize(text))
vocab = Vocab(counter)
print(rows[0], len(vocab), counter.most_common(3), vocab.itos[:5])
train, val = TextDataset(rows[:45], vocab), TextDataset(rows[45:], vocab)
labels = [l for _, l in rows[:45]]
class_weight = 1.0 / torch.bincount(torch.tensor(labels)).float()
sampler = WeightedRandomSampler(class_weight[labels], num_samples=len(labels), replacement=True)
loader = DataLoader(train, batch_size=15, sampler=sampler, collate_fn=collate)
val_loader = DataLoader(val, batch_sampler=BucketSampler([len(val[i][0]) for i in range(len(val))], 8), collate_fn=partial(collate, pad_value=0))
model = AttnBiLSTM(len(vocab))
print(model)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
workdir = Path(tempfile.mkdtemp())
stopper = EarlyStopping(path=workdir / "best.pt")
for epoch in range(1, 5):
    meter = AverageMeter("Loss", ":.4e")
    model.train()
    for texts, lengths, y in loader:
        optimizer.zero_grad()
        logits, _ = model(texts, lengths)
        loss = criterion(logits, y)
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        meter.update(loss.item(), y.size(0))
    model.eval()
    total, n, preds, trues = 0.0, 0, [], []
    with torch.no_grad():
        for texts, lengths, y in val_loader:
            logits, w = model(texts, lengths)
            total += criterion(logits, y).item() * len(y); n += len(y)
            preds.append(logits > 0); trues.append(y)
    m = metrics(torch.cat(preds), torch.cat(trues))
    print(f"Epoch {epoch:02d} | {meter} | val {total / n:.4f} | f1 {m['f1']:.3f} | {json.dumps(m['confusion'])}")
    if stopper(total / n, model):
        break
state = torch.load(workdir / "best.pt")
print(sorted(os.listdir(workdir)), list(state), model.load_state_dict(state["model"]), f"{state['best']:.4f}")
cnn = TextCNN(len(vocab))
step = torch.compile(lambda x, y: F.binary_cross_entropy_with_logits(cnn(x), y))
opt = torch.optim.Adagrad(cnn.parameters(), lr=0.05)
for texts, lengths, y in DataLoader(ConcatDataset([Subset(train, range(0, 16)), Subset(train, list(range(20, 36)))]), batch_size=16, collate_fn=collate):
    texts = F.pad(texts, (0, 12 - texts.size(1)))
    opt.zero_grad(); loss = step(texts, y); loss.backward(); opt.step()
    print("cnn", texts.shape, f"{loss.item():.4f}")
print(list(DataLoader(Stream(5), batch_size=2)), list(BatchSampler(SequentialSampler(range(5)), 2, False)))
buf = io.BytesIO()
torch.save(vocab.stoi, buf)
buf.seek(0)
print(len(torch.load(buf, weights_only=True)))
