import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("mask", None)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        h = self.fc(x - self.mean)
        if self.mask is not None:
            h = h * self.mask
        return h

torch.manual_seed(0)
net = Net()
c = torch.compile(net)
x = torch.randn(2, 4)
c(x)
net.mean = torch.ones(4)
c(x)
net.mask = torch.ones(4)
c(x)
net.fc.register_forward_hook(lambda m, i, o: o * 2)
c(x)
net.fc.weight.requires_grad_(False)
c(x)
net.fc = nn.Linear(4, 4, bias=False)
c(x)
print(net.calls)
