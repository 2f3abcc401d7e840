"""Cosines and the like of sizes and numbers, and the larger of two floats."""
import math, torch


@torch.compile
def cosine(w, t, base):
    rate = base * 0.5 * (1 + math.cos(math.pi * t / 10))
    return w - rate * w.sign()


w = torch.linspace(-1, 1, 5)
for t in range(4):
    w = cosine(w, t, 0.1)
print([round(v, 4) for v in w.tolist()])


@torch.compile(dynamic=True)
def positions(x):
    n = x.shape[0]
    return x * math.log2(n) + math.tanh(n / 8), math.sin(n)


for n in (4, 6):
    y, s = positions(torch.ones(n))
    print(round(y.sum().item(), 4), round(s, 4))
