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
        self.fc1 = nn.Linear(4, 8)
        self.act = nn.ReLU()
        self.norm = nn.LayerNorm(8)
        self.drop = nn.Dropout(0.1)
        self.fc2 = nn.Linear(8, 2, bias=False)
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.zeros(2))

    def forward(self, x):
        h = self.act(self.fc1(x))
        h = self.drop(self.norm(h))
        out = self.fc2(h)
        return out * self.scale + self.shift


torch.manual_seed(0)
net = compiled(Net())
net(torch.randn(3, 4)).sum()
net.eval()
net(torch.randn(3, 4))
