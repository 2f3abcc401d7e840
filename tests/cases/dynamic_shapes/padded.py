"""Variable-length sequences, padded to the longest of the batch, pooled under a mask."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(1)

class Pooled(nn.Module):
    def __init__(self, v=20, d=6):
        super().__init__()
        self.emb = nn.Embedding(v, d, padding_idx=0)
        self.lin = nn.Linear(d, 3)
    def forward(self, ids, lengths):
        x = self.emb(ids)
        mask = torch.arange(ids.shape[1])[None] < lengths[:, None]
        x = (x * mask[..., None]).sum(1) / lengths[:, None].clamp(min=1)
        return self.lin(x)

m = Pooled()
cm = torch.compile(m)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step, lens in enumerate([(3, 5, 2), (4, 7, 1), (6, 2, 2), (9, 1)]):
    seqs = [torch.randint(1, 20, (n,)) for n in lens]
    ids = pad_sequence(seqs, batch_first=True)
    out = cm(ids, torch.tensor(lens))
    loss = nn.functional.cross_entropy(out, torch.arange(len(lens)) % 3)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, tuple(ids.shape), f"{loss.item():.4f}")
