# keep: text:UnflattenedModule
import torch
from torch import nn
from torch.export import export, unflatten
from torch.export.unflatten import UnflattenedModule


class Attn(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k = nn.Linear(d, d), nn.Linear(d, d)
        self.register_buffer("bias", torch.zeros(d))

    def forward(self, x, mask=None):
        s = (self.q(x) @ self.k(x).mT).softmax(-1)
        return s @ x + self.bias, s


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = Attn(d)
        self.ff = nn.Sequential(nn.Linear(d, d), nn.GELU())

    def forward(self, x):
        y, s = self.attn(x)
        return self.ff(y) + x, s


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block(4) for _ in range(2))
        self.layers[1].ff = self.layers[0].ff
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        for l in self.layers:
            x, s = l(x)
        return self.out(x).squeeze(-1), s.sum()


torch.manual_seed(0)
m = Model()
x = torch.randn(2, 3, 4)
ep = export(m, (x,))
u = unflatten(ep)
print(type(u).__name__, [n for n, _ in u.named_modules()])
print([n for n, _ in u.named_parameters()])
print(torch.allclose(u(x)[0], m(x)[0]))
print(type(u.get_submodule("layers.0.attn")).__name__)

print(u.get_submodule("layers.0.attn").graph)
ep = export(m, (x,), preserve_module_call_signature=("layers.0", "layers.0.attn"))
u = unflatten(ep)
y, s = u.get_submodule("layers.0")(x)
print(y.shape, s.shape)


class Swap(nn.Module):
    def forward(self, x):
        return x * 0, torch.zeros(2, 3, 3)


u.set_submodule("layers.0", Swap())
print(u(x)[0])
print([e.fqn for e in ep.module_call_graph])
