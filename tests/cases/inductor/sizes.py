"""Batches of other sizes: what decompositions compute with a size stays symbolic."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def train(name, step, make):
    torch._dynamo.reset()
    compiled = torch.compile(step)
    for size in (4, 3):
        compiled(*make(size)).sum().backward()
    print(name)


def images(n):
    return torch.randn(n, 3, 8, 8), torch.randint(0, 5, (n,))


def rows(n):
    return torch.randn(n, 6, requires_grad=True), torch.randn(n, 6)


body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5))
line = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))

train("batch norm", lambda x, t: body(x), images)
train("mean squared error", lambda x, y: F.mse_loss(line(x), y[:, :1]), rows)
train("binary cross entropy", lambda x, y: F.binary_cross_entropy(torch.sigmoid(line(x)), torch.sigmoid(y[:, :1])), rows)
train("softmax", lambda x, y: F.softmax((x * y).sum(1, keepdim=True) * y, 1), rows)
train("twice the same", lambda x, y: torch.cat((x, x), dim=-1) * 2, rows)
train("selected", lambda x, y: x.index_select(1, torch.tensor([1, 0])), rows)
train("edges repeated", lambda x, y: F.pad(x[None], (1, 2), mode="replicate"), lambda n: (torch.randn(2, 4 * n, requires_grad=True), None))
