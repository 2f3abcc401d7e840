"""A language model on windows of one text: inputs and labels are shifted slices, windows differ in length and begin anywhere, an average
of the weights is compiled beside the model, in another mode."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        batch, length = x.shape[0], x.shape[1]
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
        x = x + self.out(mixed.permute(0, 2, 1, 3).reshape(batch, length, -1))
        return x + self.mlp(self.after(x))


class Model(nn.Module):
    def __init__(self, words=24, width=16):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(32, width)
        self.layer = Layer(width, 2)
        self.head = nn.Linear(width, words)

    def forward(self, text):
        tokens = text[:, :-1]
        batch, length = tokens.shape
        x = self.words(tokens) + self.places(torch.arange(length, device=tokens.device))
        return self.head(self.layer(x))


torch.manual_seed(11)
text = torch.randint(0, 24, (2, 60))
model = Model()
average = copy.deepcopy(model).eval().requires_grad_(False)
step = torch.compile(model, mode="reduce-overhead")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
start = 0
for i, length in enumerate((8, 8, 11, 9)):
    window = text[:, start : start + length]
    start += length
    logits = step(window)
    loss = F.cross_entropy(logits.transpose(1, 2), window[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters()):
            slow.lerp_(fast, 0.25)
    print(f"window {i}: {length} words, loss {loss.item():.3f}")


@torch.compile
def embedded(weight, rows):
    return F.embedding(rows, weight).sum(0)


weight = torch.randn(24, 4, requires_grad=True)
for begin, end in ((0, 3), (1, 5), (2, 4)):
    embedded(weight, text.t()[begin:end]).sum().backward()
print(weight.grad.sum(1).long().tolist())

noise = torch.compile(lambda x: x + torch.randint(0, 9, (x.shape[0],), dtype=torch.long))
print(noise(torch.zeros(3)).shape)
with torch.no_grad():
    print("%.2f" % F.cross_entropy(torch.compile(average)(text[:1, :7]).transpose(1, 2), text[:1, 1:7]).item())
