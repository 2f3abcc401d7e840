"""Generation with a compiled step: position as an integer, a preallocated cache and a temperature."""
import torch
import torch.nn as nn

torch.manual_seed(8)
emb, out = nn.Embedding(11, 6), nn.Linear(6, 11)
cache = torch.zeros(8, 6)

@torch.compile
def step(token, pos, temperature):
    cache[pos] = emb(token)
    ctx = cache[: pos + 1].mean(0)
    return (out(ctx) / temperature).softmax(-1)

with torch.no_grad():
    token = torch.tensor(1)
    for pos in range(5):
        p = step(token, pos, 1.0 if pos < 2 else 0.7)
        token = p.argmax()
        print(pos, token.item(), f"{p.max().item():.4f}")
