"""Hooks of modules that keep what they see in the script's lists, and what a module with hooks reads before its `forward`."""
import torch
import torch.nn as nn

torch.manual_seed(0)
seen = []


def count(module, args, result):
    seen.append(len(args))
    return result * 2


net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
net[0].register_forward_hook(count)
compiled = torch.compile(net)
for step in range(4):
    result = compiled(torch.ones(2, 4))
    print(step, seen, result.sum().item())


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Bilinear(3, 3, 3)

    def forward(self, x, y):
        return self.second(self.first(x), y)


def nothing(module, args, result=None):
    return None


for name, before in (("first", False), ("second", False), ("first", True), ("second", True)):
    torch._dynamo.reset()
    pair = Pair()
    module = getattr(pair, name)
    module.register_forward_pre_hook(nothing) if before else module.register_forward_hook(nothing)
    print(torch.compile(pair)(torch.ones(2, 3), torch.zeros(2, 3)).shape)

pairs = nn.ModuleList([Pair()])
pairs[0].register_forward_hook(lambda module, args, result: result + args[1])
print(torch.compile(lambda x, y: pairs[0](x, y))(torch.ones(2, 3), torch.ones(2, 3)).shape)

values = []


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.fc(x)) + x


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = Block(), Block()

    def forward(self, x):
        return self.last(self.first(x))


blocks = Blocks()
blocks.last.fc.register_forward_hook(lambda module, args, result: values.append(round(result.mean().item(), 4)))
compiled = torch.compile(blocks)
for step in range(3):
    print(values, compiled(torch.ones(2, 4)).shape)
