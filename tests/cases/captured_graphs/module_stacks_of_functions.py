import torch
from torch import nn


class Inner(nn.Module):
    def forward(self, x):
        return x.sin()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        return self.lin(self.inner(x))


class Trainer:
    def __init__(self, net):
        self.net = net

    def step(self, x):
        return self.net(x).sum()


net = Net()


def stack(meta, key):
    found = meta.get(key)
    return None if found is None else [(p, c.__name__) for k, (p, c) in found.items()]


def backend(gm, args):
    for n in gm.graph.nodes:
        if n.op in ("call_function", "call_method"):
            print(n.name, stack(n.meta, "nn_module_stack"))
    return gm.forward


def call_global(x):
    return net(x) * 2


def call_local(x, m):
    return m(x) * 2


def call_inner(x):
    return net.inner(x).cos()


x = torch.ones(1, 2)
torch.compile(call_global, backend=backend)(x)
torch.compile(call_local, backend=backend)(x, net)
torch.compile(call_inner, backend=backend)(x)
local = Net()
torch.compile(lambda x: local(x), backend=backend)(x)


def closure():
    mine = Net()
    return lambda x: mine(x)


torch.compile(closure(), backend=backend)(x)
torch.compile(Trainer(net).step, backend=backend)(x)
