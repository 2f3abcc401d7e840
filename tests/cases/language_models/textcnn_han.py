import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence
from torch.utils.data import Dataset, DataLoader
from collections import Counter
import re
torch.manual_seed(0)

texts = ["the movie was great and fun. i loved it!", "terrible plot; boring acting.", "what a wonderful film", "i hated every minute of it. bad bad bad",
         "fun for the whole family", "dull, slow and predictable", "an absolute masterpiece of cinema", "not worth the time"]
labels = [1, 0, 1, 0, 1, 0, 1, 0]
tokenize = lambda s: re.findall(r"\w+", s.lower())
counter = Counter(w for t in texts for w in tokenize(t))
itos = ['<pad>', '<unk>'] + [w for w, c in sorted(counter.items(), key=lambda kv: (-kv[1], kv[0]))]
stoi = {w: i for i, w in enumerate(itos)}
print(len(itos), counter.most_common(3))

class TextDataset(Dataset):
    def __init__(self, texts, labels):
        self.items = [(torch.tensor([stoi.get(w, 1) for w in tokenize(t)]), l) for t, l in zip(texts, labels)]
    def __len__(self): return len(self.items)
    def __getitem__(self, i): return self.items[i]

def collate(batch):
    batch = sorted(batch, key=lambda b: -len(b[0]))
    xs, ys = zip(*batch)
    lens = torch.tensor([len(x) for x in xs])
    return pad_sequence(xs, batch_first=True, padding_value=0), lens, torch.tensor(ys)

class TextCNN(nn.Module):
    def __init__(self, vocab, dim=8, n_filters=6, sizes=(2, 3, 4), classes=2, p=0.5):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv2d(1, n_filters, (k, dim)) for k in sizes])
        self.fc = nn.Linear(n_filters * len(sizes), classes)
        self.dropout = nn.Dropout(p)
    def forward(self, text):
        embedded = self.embedding(text).unsqueeze(1)
        conved = [F.relu(conv(embedded)).squeeze(3) for conv in self.convs]
        pooled = [F.max_pool1d(c, c.shape[2]).squeeze(2) for c in conved]
        return self.fc(self.dropout(torch.cat(pooled, dim=1)))

class AttnGRU(nn.Module):
    def __init__(self, vocab, dim=8, hid=6):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hid, bidirectional=True, batch_first=True)
        self.u = nn.Linear(2 * hid, 2 * hid)
        self.ctx = nn.Parameter(torch.randn(2 * hid) * 0.1)
        self.cls = nn.Linear(2 * hid, 2)
    def forward(self, x, lens):
        packed = pack_padded_sequence(self.emb(x), lens, batch_first=True)
        out, h = self.gru(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        s = torch.tanh(self.u(out)) @ self.ctx
        mask = torch.arange(out.size(1))[None, :] >= lens[:, None]
        a = torch.softmax(s.masked_fill(mask, -1e9), 1)
        return self.cls(torch.bmm(a.unsqueeze(1), out).squeeze(1)), a

loader = DataLoader(TextDataset(texts, labels), batch_size=4, collate_fn=collate)
cnn = TextCNN(len(itos))
ccnn = torch.compile(cnn)
opt = torch.optim.Adam(cnn.parameters())
for ep in range(2):
    for x, lens, y in loader:
        logits = ccnn(x)
        loss = F.cross_entropy(logits, y)
        opt.zero_grad(); loss.backward(); opt.step()
        print(f"cnn {ep} {tuple(x.shape)} {loss.item():.4f}")
han = AttnGRU(len(itos))
chan = torch.compile(han)
opt = torch.optim.Adam(han.parameters(), lr=1e-2)
for x, lens, y in loader:
    logits, a = chan(x, lens)
    loss = F.cross_entropy(logits, y)
    opt.zero_grad(); loss.backward(); opt.step()
    print(f"han {loss.item():.4f} {a.sum(1).mean():.3f}")
cnn.eval()
with torch.no_grad():
    for x, lens, y in loader:
        print(F.softmax(ccnn(x), -1).max(-1).values.gt(0.5).all().item())
