"""Word language model with packed sequences, bidirectional LSTM classifier, tied weights and truncated BPTT."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence
from torch.utils.data import Dataset, DataLoader
from collections import Counter
import random

random.seed(7)
torch.manual_seed(7)


class Dictionary(object):
    def __init__(self):
        self.word2idx = {}
        self.idx2word = []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


text = """the cat sat on the mat . the dog sat on the log .
a cat and a dog ran to the mat and the log . the end .""".split()
vocab = Dictionary()
ids = torch.tensor([vocab.add_word(w) for w in text]).type(torch.int64)
print(len(vocab), Counter(text).most_common(3))


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=True):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.nhid, self.nlayers = nhid, nlayers

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output)
        return torch.log_softmax(decoded.view(-1, decoded.size(-1)), dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    else:
        return tuple(repackage_hidden(v) for v in h)


model = RNNModel(len(vocab), 12, 12, 2)
print(model)
train = batchify(ids, 4)
bptt, lr = 3, 1.0
criterion = nn.NLLLoss()
compiled = torch.compile(model, backend="aot_eager")
for epoch in range(2):
    model.train()
    hidden = model.init_hidden(4)
    total = 0.0
    for i in range(0, train.size(0) - 1, bptt):
        seq_len = min(bptt, len(train) - 1 - i)
        data, target = train[i : i + seq_len], train[i + 1 : i + 1 + seq_len].view(-1)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = compiled(data, hidden)
        loss = criterion(output, target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item() * len(data)
    print("| epoch {:3d} | loss {:5.4f} |".format(epoch, total / (len(train) - 1)))


class Sentences(Dataset):
    def __init__(self, n):
        self.items = [(torch.randint(1, 20, (random.randint(2, 7),)), random.randint(0, 1)) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    batch.sort(key=lambda b: len(b[0]), reverse=True)
    seqs, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True, padding_value=0), lengths, torch.tensor(labels)


class BiLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 10, num_layers=2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(20, 2)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.emb(x), lengths, batch_first=True)
        out, (h, c) = self.lstm(packed)
        out, out_len = pad_packed_sequence(out, batch_first=True)
        mask = torch.arange(out.size(1))[None, :] < out_len[:, None]
        pooled = out.masked_fill(~mask[..., None], -1e9).max(dim=1)[0]
        return self.fc(pooled + torch.cat([h[-2], h[-1]], dim=1))


net = BiLSTM()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
head = torch.compile(lambda o, y: nn.functional.cross_entropy(o, y, label_smoothing=0.05), backend="aot_eager", dynamic=True)
for epoch in range(2):
    for x, lengths, y in DataLoader(Sentences(7), batch_size=4, shuffle=True, collate_fn=collate):
        out = net(x, lengths)
        loss = head(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(epoch, tuple(x.shape), lengths.tolist(), f"{loss.item():.5f}")
p = pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5]), torch.tensor([6])])
print(p)
gru = nn.GRU(1, 3)
out, h = gru(p._replace(data=p.data.float().unsqueeze(1)))
print(out.data.shape, out.batch_sizes, h.squeeze(0))
