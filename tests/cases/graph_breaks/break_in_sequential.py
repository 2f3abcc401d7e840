"""A graph that breaks inside of a module of torch.nn.Sequential: the loop is that of a frame of PyTorch's, which is skipped."""

import torch
from torch import nn


class Told(nn.Module):
    def forward(self, x):
        y = x * 2
        print("mean", round(y.mean().item(), 3))
        return y.relu() + 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(3, 3), Told(), nn.Linear(3, 2))

    def forward(self, x):
        return self.body(x + 1).sum() * 2


net = Net()
x = torch.linspace(-1, 1, 6).view(2, 3)
for _ in range(2):
    torch.compile(net)(x).backward()
print([round(p.grad.abs().sum().item(), 4) for p in net.parameters()])
