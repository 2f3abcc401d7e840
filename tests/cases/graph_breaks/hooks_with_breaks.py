"""Hooks that end graphs: bodies of PyTorch's modules that have such hooks are functions of their own, unless they ran without before."""
import torch, torch.nn as nn
torch.manual_seed(0)
vals = []


def item(m, i, o):
    vals.append(o.detach().mean().item())


def show(name, mod, *hooked):
    torch._dynamo.reset()
    for h in hooked:
        h.register_forward_hook(item)
    torch.compile(mod)(torch.ones(2, 3))
    print(name, [round(v, 4) for v in vals])
    vals.clear()
n = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
show("first", n, n[0])
n = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
show("last", n, n[2])
n = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
show("tanh", n, n[1])
n = nn.Sequential(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), nn.Tanh())
show("nested", n, n[0][0])
n = nn.Sequential(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), nn.Tanh())
show("nested seq", n, n[0])
n = nn.Linear(3, 3)
show("lone", n, n)
class Block(nn.Module):
    def __init__(s):
        super().__init__()
        s.f = nn.Linear(3, 3)
    def forward(s, x):
        return s.f(x).relu() + x
n = nn.Sequential(Block(), nn.Tanh(), Block())
show("block", n, n[0])
n = nn.Sequential(Block(), nn.Tanh(), Block())
show("in block", n, n[0].f)
class Net(nn.Module):
    def __init__(s):
        super().__init__()
        s.body = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        s.head = nn.Linear(3, 1)
    def forward(s, x):
        return s.head(s.body(x + 1) * 2)
n = Net()
show("net body0", n, n.body[0])
n = Net()
show("net body", n, n.body)
n = Net()
show("net head", n, n.head)
class Lay(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        s.d = nn.Dropout(0.0)
    def forward(s, x):
        for l in s.l:
            x = s.d(l(x)).relu()
        return x
n = Lay()
show("list", n, n.l[1])
n = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True); n.linear1.register_forward_hook(item); print("enc")
torch._dynamo.reset(); torch.compile(n)(torch.ones(1, 2, 4))
n = nn.GELU(); print("gelu"); torch._dynamo.reset(); n.register_forward_hook(item); torch.compile(n)(torch.ones(1, 2, 4))
