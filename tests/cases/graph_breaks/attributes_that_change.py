"""Attributes of a module that change between calls: a number, a flag, a submodule, a list."""
import torch
import torch.nn as nn

torch.manual_seed(4)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.scale = 2
        self.temp = 1.5
        self.flag = True
        self.taps = [1, 2]
    def forward(self, x):
        y = self.lin(x) * self.scale / self.temp
        if self.flag:
            y = y.relu()
        for t in self.taps:
            y = y + t
        return y

net = Net()
model = torch.compile(net)
x = torch.ones(2, 4)
def show(what):
    print(what, f"{model(x).sum().item():.4f}")
show("first")
net.scale = 3
show("scale")
net.scale = 4
show("scale")
net.temp = 2.5
show("temp")
net.temp = 3.5
show("temp")
net.flag = False
show("flag")
net.taps.append(3)
show("taps")
net.lin = nn.Linear(4, 4)
show("lin")
net.eval()
show("eval")
