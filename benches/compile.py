"""Processor time of `torch.compile` from Python to partitioned graphs: Dynamo, AOTAutograd, partitioner, and one run of the
forward on small tensors. Ours: `cargo bench --no-default-features --features python --bench compile`; PyTorch's, on the same
programs: `python benches/compile.py`.
"""

import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from block import Block


class Residual(nn.Module):
    def __init__(self, c=4):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(c), nn.BatchNorm2d(c)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class Gru(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.cell = nn.GRUCell(d, d)

    def forward(self, x):
        h = x.new_zeros(x.shape[1], x.shape[2])
        out = []
        for t in range(x.shape[0]):
            h = self.cell(x[t], h)
            out.append(h)
        return torch.stack(out)


def chain(length):
    def f(x):
        for _ in range(length // 2):
            x = x.sin() * x
        return x

    return f


def milliseconds(f, x, runs):
    fastest = float("inf")
    for _ in range(runs):
        torch._dynamo.reset()
        compiled = torch.compile(f, backend="aot_eager")
        start = time.process_time()
        compiled(x)
        fastest = min(fastest, time.process_time() - start)
    return fastest * 1e3


mlp = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
for name, f, x in [
    ("MLP", mlp, torch.randn(4, 8)),
    ("transformer block", Block(), torch.randn(2, 8, 32)),
    ("ResNet block", Residual(), torch.randn(2, 4, 8, 8)),
    ("GRU, 8 steps", Gru(), torch.randn(8, 2, 8)),
]:
    print(f"{name:20} {milliseconds(f, x, 7):10.2f} ms", flush=True)
for length in (100, 1_000, 10_000):
    try:
        print(f"{length:6} operators {milliseconds(chain(length), torch.ones(4, requires_grad=True), 2):14.2f} ms", flush=True)
    except RecursionError:
        print(f"{length:6} operators: the recursion limit is reached", flush=True)
