"""Lazy modules are initialized when the call that contains theirs is captured."""
import torch, torch.nn as nn
torch.manual_seed(0)
n = []
def be(gm, ex):
    n.append([node.target if isinstance(node.target, str) else node.target.__name__ for node in gm.graph.nodes]); return gm
m = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyBatchNorm1d(), nn.LazyLinear(2))
c = torch.compile(m, backend=be)
c(torch.ones(3, 5)).sum().backward()
print(m, len(n), n)
print([None if p.grad is None else p.grad.shape for p in m.parameters()])
l = nn.LazyLinear(3)
d = torch.compile(l, backend="aot_eager", dynamic=True)
print(d(torch.ones(4, 2)).shape, type(l).__name__, type(d._orig_mod).__name__)
d(torch.ones(7, 2)).sum().backward(); print(l.weight.grad)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.LazyConv2d(4, 3)
        self.f = nn.LazyLinear(2)
    def forward(self, x):
        y = self.c(x).relu()
        print("break")
        return self.f(y.flatten(1))
net = Net()
k = torch.compile(net, backend="aot_eager")
k(torch.randn(2, 3, 6, 6)).sum().backward()
print([tuple(p.shape) for p in net.parameters()], net.f.weight.grad.abs().sum() > 0, net.c.weight.grad is not None)
@torch.compile(backend="aot_eager", fullgraph=True)
def f(x, m): return m(x)
l = nn.LazyLinear(2)
f(torch.ones(2, 3), l).sum().backward(); print(l.bias.grad, l)
