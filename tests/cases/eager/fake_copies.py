import copy

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensor, FakeTensorMode


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.norm = nn.LayerNorm(4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.full((1,), 2.0))
        self.plain = torch.arange(3.0)

    def forward(self, x):
        return self.head(self.norm(self.embed(x)) * self.scale)


net = Net()
mode = FakeTensorMode()
with FakeCopyMode(mode):
    fake = copy.deepcopy(net)
    alone = copy.deepcopy(torch.ones(2, 3, requires_grad=True))
    several = copy.deepcopy({"a": net.scale, "b": [net.scale, 1]})
print({n: (type(p).__name__, tuple(p.shape), p.requires_grad) for n, p in fake.named_parameters()})
print(fake.head.weight is fake.embed.weight, isinstance(fake.scale, FakeTensor), fake.plain)
print(alone, alone.requires_grad, several["a"] is several["b"][0], several["b"][1])
with mode:
    out = fake(torch.zeros(2, 3, dtype=torch.int64))
    out.sum().backward()
print(out, fake.embed.weight.grad.shape, fake.embed.weight.fake_mode is mode)
print(type(net.embed.weight).__name__, net(torch.zeros(1, 1, dtype=torch.int64)).shape, net.scale)
