import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from functorch.compile import make_boxed_func


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x.sin() * self.w


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        return self.lin(self.inner(x)) + 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.head(x).sum()


def stack(meta, key):
    found = meta.get(key)
    return None if found is None else [(p, c.__name__ if isinstance(c, type) else c) for p, c in found.values()]


def show(tag):
    def go(gm, args):
        for n in gm.graph.nodes:
            if n.op in ("call_function", "call_method"):
                print(tag, n.name, stack(n.meta, "nn_module_stack"), stack(n.meta, "fwd_nn_module_stack"), sorted(k for k in n.meta if "source_fn" in k))
        return make_boxed_func(gm.forward)

    return go


torch.manual_seed(0)
m = Net()


def backend(gm, inputs):
    show("D")(gm, inputs)
    return aot_autograd(fw_compiler=show("F"), bw_compiler=show("B"))(gm, inputs)


torch.compile(m, backend=backend)(torch.ones(2, 3)).backward()
ep = torch.export.export(m, (torch.ones(2, 3),))
show("E")(ep.graph_module, None)
