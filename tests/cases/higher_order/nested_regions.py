"""Regions that are compiled once where they repeat: here each is met once, or traced into its caller by the setting."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.l = nn.Linear(d, d)

    @torch.compiler.nested_compile_region
    def forward(self, x):
        return torch.relu(self.l(x)) + x


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(4) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.sum()


@torch.compiler.nested_compile_region
def act(a, b):
    return (a * b).sigmoid(), a - b


@torch.compiler.nested_compile_region()
def written(d, x):
    d.add_(x)
    return d + 1


@torch.compile(fullgraph=True)
def once(a, b):
    p, q = act(a, b)
    return p + q


@torch.compile(fullgraph=True)
def writing(d, x):
    return written(d, x) * 2


a, b = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
once(a, b).sum().backward()
print(a.grad, act(a, b)[0].sum().item())
d = torch.zeros(2)
print(writing(d, torch.ones(2)), d)
torch.manual_seed(0)
model = Stack()
x = torch.randn(2, 4, requires_grad=True)
with torch._dynamo.config.patch(inline_invoke_subgraph=True):
    loss = torch.compile(model, fullgraph=True)(x)
loss.backward()
print(f"{loss.item():.4f}", x.grad.sum().item().__round__(3), model.layers[2].l.weight.grad.norm().item().__round__(4))
print(f"{model(x).item():.4f}")
try:
    torch.compiler.nested_compile_region(act, options={})
except RuntimeError as e:
    print(e)
