import torch, torch.nn as nn


class Breaks(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        x = self.linear(x)
        torch._dynamo.graph_break()
        return x + 1


torch.manual_seed(0)
net = nn.Sequential(Breaks(), nn.ReLU(), nn.Linear(2, 2))


@torch.compile
def f(x):
    y = net(x + 1)
    return y * 2


print(f(torch.ones(3, 2)))
print(torch.compile(net)(torch.ones(3, 2)))


@torch.compile
def given_up(x):
    for _ in range(2):
        print("next")
        x = nn.functional.relu(net[2](x))
    return x


print(given_up(torch.ones(3, 2)))
