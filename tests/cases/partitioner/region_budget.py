import torch
import torch._functorch.config as config
from torch.autograd.graph import region_activation_memory_budget


def layers(x, ws):
    for i, w in enumerate(ws):
        x = torch.softmax(x @ w, -1) if i % 2 else torch.relu(x @ w)
    return x.sum()


def whole(x, ws, budget):
    with region_activation_memory_budget(budget):
        return layers(x, ws)


def part(x, ws, budget):
    x = torch.tanh(x @ ws[0])
    with region_activation_memory_budget(budget):
        return layers(x, ws)


def two(x, ws, budget):
    with region_activation_memory_budget(budget):
        x = torch.tanh(x @ ws[0])
    with region_activation_memory_budget(0.25):
        return layers(x, ws)


torch.manual_seed(0)
x = torch.randn(8, 16)
ws = [torch.randn(16, 16, requires_grad=True) for _ in range(6)]
for budget in (0.0, 0.3, 0.7, 1.0):
    torch._dynamo.reset()
    torch.compile(whole, backend="aot_eager")(x, ws, budget).backward()
for f in (part, two):
    torch._dynamo.reset()
    try:
        torch.compile(f, backend="aot_eager")(x, ws, 0.5).backward()
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
torch._dynamo.reset()
with config.patch(activation_memory_budget_require_full_coverage=False):
    torch.compile(part, backend="aot_eager")(x, ws, 0.4).backward()
try:
    whole(x, ws, 0.5)
except RuntimeError as e:
    print(e)
try:
    region_activation_memory_budget(1.5)
except ValueError as e:
    print(e)
