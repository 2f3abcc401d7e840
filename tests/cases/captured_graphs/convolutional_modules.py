import torch
import torch.nn as nn
import torch.nn.functional as F


def show(gm, example_inputs):
    print(gm.graph)
    print(gm.code)
    print(gm.print_readable(print_output=False))
    for n in gm.graph.nodes:
        value = n.meta.get("example_value")
        told = (tuple(value.shape), value.dtype, value.requires_grad, value.is_leaf) if isinstance(value, torch.Tensor) else value is not None
        print(n.op, n.name, getattr(n.target, "__name__", n.target), n.args, n.kwargs, told, sorted(n.users, key=str))
    return gm


def compiled(f, **options):
    return torch.compile(f, backend=show, **options)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2)
        self.avg = nn.AdaptiveAvgPool2d(1)
        self.flat = nn.Flatten()
        self.emb = nn.Embedding(10, 4)
        self.gn = nn.GroupNorm(2, 4)
        self.soft = nn.Softmax(dim=-1)

    def forward(self, x, i):
        x = self.pool(torch.relu(self.bn(self.conv(x))))
        x = self.gn(x)
        y = self.flat(self.avg(x))
        return self.soft(y + self.emb(i))


compiled(Net())(torch.randn(2, 3, 8, 8), torch.tensor([1, 2]))
