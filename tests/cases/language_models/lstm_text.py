import random
import string
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
random.seed(0)

corpus = ["the cat sat on the mat", "dogs chase the cat", "a bird sang", "the mat was red and warm"]
labels = [0, 1, 0, 1]
counter = Counter(w for s in corpus for w in s.split())
vocab = {"<pad>": 0, "<unk>": 1}
for w, _ in counter.most_common():
    vocab[w] = len(vocab)
print(len(vocab), counter.most_common(3))


def encode(s):
    return torch.tensor([vocab.get(w, 1) for w in s.lower().split()], dtype=torch.long)


class TextLSTM(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, output_dim, n_layers, bidirectional, dropout, pad_idx):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=pad_idx)
        self.rnn = nn.LSTM(embedding_dim, hidden_dim, num_layers=n_layers, bidirectional=bidirectional, dropout=dropout, batch_first=True)
        self.fc = nn.Linear(hidden_dim * 2 if bidirectional else hidden_dim, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, text):
        embedded = self.dropout(self.embedding(text))
        output, (hidden, cell) = self.rnn(embedded)
        hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))
        return self.fc(hidden), output


model = TextLSTM(len(vocab), 8, 6, 1, 2, True, 0.0, 0)
print(model)
batch = pad_sequence([encode(s) for s in corpus], batch_first=True, padding_value=0)
target = torch.tensor(labels, dtype=torch.float)
print(batch.shape, batch[2])
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
run = torch.compile(model)
for epoch in range(3):
    optimizer.zero_grad()
    pred, _ = run(batch)
    loss = criterion(pred.squeeze(1), target)
    loss.backward()
    optimizer.step()
    acc = (torch.round(torch.sigmoid(pred.squeeze(1))) == target).float().mean()
    print(f"Epoch: {epoch + 1:02} | Train Loss: {loss.item():.3f} | Train Acc: {acc.item() * 100:.2f}%")

lengths = torch.tensor([len(s.split()) for s in corpus])
packed = pack_padded_sequence(model.embedding(batch), lengths, batch_first=True, enforce_sorted=False)
out, (h, c) = model.rnn(packed)
unpacked, sizes = pad_packed_sequence(out, batch_first=True)
print(unpacked.shape, sizes, h.shape)
print("".join(random.choice(string.ascii_lowercase) for _ in range(8)), random.sample(range(20), 4), round(random.gauss(0, 1), 6))
