"""Batches of sequences of several lengths: masks from lengths, padding, mean over what is there."""

import torch
import torch.nn as nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.proj = nn.Linear(8, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, ids, lengths):
        batch, time = ids.shape
        mask = torch.arange(time)[None, :] < lengths[:, None]
        h = torch.tanh(self.proj(self.embed(ids)))
        h = h.masked_fill(~mask[..., None], 0.0)
        pooled = h.sum(1) / lengths[:, None]
        return self.out(pooled)


model = torch.compile(Encoder())
for batch, time in ((2, 5), (3, 7), (4, 9), (2, 6)):
    ids = torch.randint(0, 30, (batch, time))
    lengths = torch.randint(1, time + 1, (batch,))
    loss = nn.functional.cross_entropy(model(ids, lengths), torch.zeros(batch, dtype=torch.long))
    loss.backward()
    print(batch, time, f"{loss.item():.4f}")
