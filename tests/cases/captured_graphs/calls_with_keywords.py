import torch
import torch.nn as nn


def show(gm, inputs):
    print(gm.code.strip())
    return gm.forward


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.norm = nn.LayerNorm(3)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x, **options):
        return self.norm(self.linear(x)) * self.scale * options["by"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x, **options):
        return self.block(x, **options)


model = torch.compile(Model(), backend=show)
print(model(torch.ones(2, 3), by=2).shape)
options = {"by": 3}
print(model(torch.ones(2, 3), **options).shape)


@torch.compile(backend=show)
def limits(x, z):
    return torch.clamp(x, z[0], z[-1]), x.clamp(min=z[0]), torch.where(x > z[1], x, z[1]), x.pow(z[0])


print(limits(torch.ones(3), torch.tensor([1.0, 2.0, 3.0])))
