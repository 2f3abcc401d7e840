# torch._dynamo.export: graphs with the function's own signature, what they read besides, and what they give.
import torch
import torch.nn as nn
import torch._dynamo

torch.manual_seed(0)
x, y = torch.randn(3, 4), torch.randn(3, 4)


def sizes(x, y):
    a = x.sin() + y
    if x.shape[0] > 2:
        a = a * 2
    return a, (x.cos(), y.size(0))


result = torch._dynamo.export(sizes, aten_graph=True)(x, y)
gm, guards = result
print(type(gm).__name__, type(guards).__name__, len(result), len(guards) > 0)
gm.print_readable()
print(gm.graph)
print(gm.code)
out = gm(x, y)
print(torch.equal(out[0], sizes(x, y)[0]), out[1][1])
torch._dynamo.export(sizes)(x, y)[0].print_readable()
torch._dynamo.export(sizes, aten_graph=True, assume_static_by_default=True)(x, y)[0].print_readable()
torch._dynamo.export(sizes, aten_graph=True, tracing_mode="fake")(x, y)[0].print_readable()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.bn = nn.BatchNorm1d(4)
        self.register_buffer("scale", torch.ones(4))
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x, mask=None, *, gain=2.0):
        h = self.bn(self.lin(x)) * self.scale
        for layer in self.layers:
            h = torch.relu(layer(h))
        if mask is not None:
            h = h.masked_fill(mask, 0.0)
        return {"h": h * gain, "x": x, "n": 3}


model, mask = Model(), torch.rand(3, 4) > 0.5
gm, _ = torch._dynamo.export(model, aten_graph=True)(x, mask=mask)
gm.print_readable()
print(gm.code)
print(gm(x, mask=mask).keys(), gm(x, mask=mask)["h"].shape)
gm, _ = torch._dynamo.export(model)(x, mask)
gm.print_readable()
print(sorted(gm.state_dict().keys()), gm(x, mask)["n"])
gm, _ = torch._dynamo.export(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1)), aten_graph=True)(x)
gm.print_readable()
print([name for name, _ in gm.named_parameters()])


def writes(d, ts):
    a, b = ts
    d["a"].add_(1)
    return d["a"] + a, b, 5, None


given = {"a": torch.zeros(2, 3)}, (torch.ones(2, 3), torch.ones(5))
gm, _ = torch._dynamo.export(writes, aten_graph=True)(*given)
gm.print_readable()
print(given[0]["a"].sum())
print(gm(*given), given[0]["a"].sum())


def gives_its_input(x):
    x.add_(1)
    y = x[0]
    y.mul_(2)
    return x, y


torch._dynamo.export(gives_its_input, aten_graph=True)(torch.zeros(2, 2))[0].print_readable()
torch._dynamo.export(gives_its_input)(torch.zeros(2, 2))[0].print_readable()
w = torch.randn(4, 2)


def closes_over(x):
    return x @ w + torch.tensor([1.0, 2.0])


torch._dynamo.export(closes_over, aten_graph=True)(x)[0].print_readable()
torch._dynamo.export(closes_over)(x)[0].print_readable()


def many(x, y, *args, **kw):
    a = x.sin()
    for t in args:
        a = a + t
    return a + kw["z"]


gm, _ = torch._dynamo.export(many, aten_graph=True)(x, x + 1, x + 2, torch.randn(4), z=x, w=x + 5)
gm.print_readable()
print(gm.graph)


def numbers(x, n, scale=2.0):
    a = x.view(n, -1) * scale
    return a, a, [x.shape[0] * 2, a.size(0)]


torch._dynamo.export(numbers, aten_graph=True)(x, 2, scale=3.0)[0].print_readable()
torch._dynamo.export(numbers)(x, 2)[0].print_readable()


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))
        self.e = nn.Embedding(5, 4)

    def forward(self, i):
        h = self.e(i) @ self.w
        return h @ self.w.t()


torch._dynamo.export(Tied(), aten_graph=True)(torch.tensor([1, 2, 3]))[0].print_readable()
torch._dynamo.export(Tied())(torch.tensor([1, 2, 3]))[0].print_readable()


def nothing(x, y):
    return y, x


torch._dynamo.export(nothing)(x, x + 1)[0].print_readable()
torch._dynamo.export(nothing, aten_graph=True)(x, x + 1)[0].print_readable()


def breaks(x):
    if x.sum() > 0:
        return x
    return -x


try:
    torch._dynamo.export(breaks)(x)
except torch._dynamo.exc.Unsupported as e:
    print(str(e).split("\n")[0])
try:
    torch._dynamo.export(numbers, decomposition_table={})(x, 2)
except AssertionError as e:
    print(e)
try:
    torch._dynamo.export(numbers)(x, 2)[0](x)
except TypeError as e:
    print(e)
