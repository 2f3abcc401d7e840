import torch
import torch.nn as nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 6)
        self.scale = 0.5
        self.steps = 2
        self.act = "relu"
        self.residual = True
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        h = x
        for _ in range(self.steps):
            h = self.lin(h)
            if self.act == "relu":
                h = h.relu()
            else:
                h = h.tanh()
        h = self.drop(h)
        if self.residual:
            h = h + x
        return h * self.scale

torch.manual_seed(0)
m = Block()
c = torch.compile(m)
x = torch.randn(3, 6)
print(c(x).shape)
m.scale = 0.25
print(c(x).shape)
m.steps = 3
print(c(x).shape)
m.act = "tanh"
print(c(x).shape)
m.residual = False
print(c(x).shape)
m.eval()
print(c(x).shape)
