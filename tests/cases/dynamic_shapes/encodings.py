"""Sinusoidal positions written into every other column of a tensor of a varying length."""

import torch, math
torch.manual_seed(0)
@torch.compile
def sinus(x):
    T, D = x.shape[-2:]
    pos = torch.arange(T).unsqueeze(1)
    div = torch.exp(torch.arange(0, D, 2) * (-math.log(10000.0) / D))
    pe = torch.zeros(T, D)
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return x + pe * math.sqrt(D)
for t in (4, 6, 9):
    print(round(sinus(torch.randn(2, t, 8)).sum().item(), 3))
