"""What was compiled is kept by code: whoever compiles or calls a function as it was compiled before finds it."""
import torch

stats = torch._dynamo.utils.counters["stats"]


def f(x):
    return x.sin() * 2


for options in ({}, {"fullgraph": True}, {"dynamic": True}, {"dynamic": False}, {}):
    torch.compile(f, **options)(torch.ones(4))
    print(options, stats["unique_graphs"])


class M(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = torch.nn.Linear(n, 2)

    def forward(self, x):
        return self.linear(x).relu()


torch.manual_seed(0)
a, b, c = M(3), M(3), M(4)
for m, shape in ((a, (2, 3)), (b, (2, 3)), (c, (5, 4)), (a, (7, 3))):
    out = torch.compile(m)(torch.ones(shape))
    out.sum().backward()
    print(shape, stats["unique_graphs"])
a.compile()
a(torch.ones(2, 3)).sum().backward()
print("in place", stats["unique_graphs"])


def breaks(x):
    y = x * 3
    print("broke")
    return y + 1


@torch.compile
def calls(x):
    return breaks(x + 1) * 2


@torch.compile
def calls_too(x):
    return breaks(x - 1) / 2


print(calls(torch.ones(3)), calls_too(torch.ones(3)), stats["unique_graphs"])
print(torch.compile(breaks)(torch.ones(3)), stats["unique_graphs"])
print(torch.compile(breaks, fullgraph=True)(torch.ones(3)), stats["unique_graphs"])
try:
    torch.compile(lambda x: breaks(x.cos()), fullgraph=True)(torch.ones(3))
except torch._dynamo.exc.Unsupported:
    print("Unsupported")
