"""Regions that are compiled once: calls that share a subgraph, in training and inference, with sizes that vary, one within another."""
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


torch.manual_seed(0)
model = Stack()
x = torch.randn(2, 4, requires_grad=True)
compiled = torch.compile(model, fullgraph=True)
loss = compiled(x)
loss.backward()
print(f"{loss.item():.4f}", x.grad.sum().item().__round__(3), [layer.l.weight.grad.norm().item().__round__(4) for layer in model.layers])
with torch.no_grad():
    print(f"{compiled(x).item():.4f} {model(x).item():.4f}")


@torch.compiler.nested_compile_region
def block(x, w, unused=None):
    y = torch.sin(w) + x
    return y * 2, y.cos()


def blocks(x, ws):
    for w in ws:
        x, c = block(x, w)
        x = x + c
    return x


ws = [torch.full((2, 3), float(i), requires_grad=True) for i in range(3)]
torch.compile(blocks, fullgraph=True)(torch.ones(2, 3), ws).sum().backward()
print([w.grad.sum().item().__round__(4) for w in ws])
varying = torch.compile(blocks, fullgraph=True, dynamic=True)
for rows in (2, 4):
    print(varying(torch.ones(rows, 3), [torch.ones(rows, 3)] * 2).sum().item().__round__(3))


@torch.compiler.nested_compile_region
def outer(x, w):
    y, c = block(x, w)
    z, d = block(y + c, w)
    return z * d


def within(x, w):
    return outer(outer(x, w), w)


print(torch.compile(within, fullgraph=True)(torch.ones(3), torch.ones(3)))


@torch.compiler.nested_compile_region
def counted(x, k):
    return x * k


def by_number(x):
    return counted(counted(counted(x, 2), 3), 2)


print(torch.compile(by_number, fullgraph=True)(torch.ones(3)))


@torch.compiler.nested_compile_region
def named(x, *, scale=2.0, flags=("a",), more=None):
    return {"y": x * scale, "n": len(flags), "z": None if more is None else more["k"] + x}


print(torch.compile(lambda x: named(named(x)["y"], scale=3.0, more={"k": x}), fullgraph=True)(torch.ones(2)))
calls = []


@torch.compiler.nested_compile_region
def counts(x):
    calls.append(1)
    return x.sin()


print(torch.compile(lambda x: counts(counts(x)))(torch.ones(2)).sum().item().__round__(3), calls)


@torch.compiler.nested_compile_region
def same(x):
    return x


@torch.compiler.nested_compile_region
def twice(x):
    y = x + 1
    return y, y.view(-1)


@torch.compiler.nested_compile_region
def breaks(x):
    torch._dynamo.graph_break()
    return x + 1


for refused in (same, twice, breaks):
    torch._dynamo.reset()
    try:
        print(torch.compile(lambda x: (refused(x), refused(x * 2)))(torch.ones(2)))
    except Exception as e:
        print(type(e).__name__, str(e).split("Developer debug context")[0])
for options in ({"max_reuse_entries": 8}, {"options": {}}):
    try:
        print(torch.compiler.nested_compile_region(same, **options)(torch.ones(2)))
    except RuntimeError as e:
        print(e)
