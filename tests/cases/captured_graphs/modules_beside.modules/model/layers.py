from torch import nn

from helpers import scaled


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lin = nn.Linear(n, n)
        self.factor = 2

    def forward(self, x):
        y = self.lin(x)
        return scaled(y) * self.factor
