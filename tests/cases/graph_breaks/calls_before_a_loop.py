"""What a function calls before a loop that a graph ends in is compiled at the first call already."""
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(4) * 0.5)

    def forward(self, x):
        return x @ self.weight + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = Scaled(), nn.Linear(4, 1)
        nn.init.ones_(self.last.weight)

    def forward(self, x, steps):
        x = torch.tanh(x)
        x = self.first(x)
        for i in range(steps):
            print("step", i)
            x = x + 1
        return self.last(x)


torch.manual_seed(1)
net = Net()
compiled = torch.compile(net)
for rows in (3, 5, 4):
    loss = compiled(torch.ones(rows, 4), 2).mean()
    loss.backward()
    print(f"{loss.item():.4f}")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})

    def forward(self, x, context=None):
        y = self.parts["a"](x)
        context = context if context is not None else x
        return y + self.parts["b"](context)


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.ModuleDict({"block": Block()}) for _ in range(3)])

    def forward(self, x, context):
        for entry in self.blocks[:2]:
            x = entry["block"](x, context=context)
        return x


torch.manual_seed(0)
stack = torch.compile(Stack())
print(f"{stack(torch.ones(2, 4), torch.ones(2, 4)).sum().item():.4f}")


class Diffuser(nn.Module):
    def forward(self, x, step):
        step = step if torch.is_tensor(step) else torch.tensor([step])
        return x * step.float().view(-1, 1)


diffuser = torch.compile(Diffuser())
print(diffuser(torch.ones(2, 2), torch.tensor([1, 2])).sum())
for step in (9, 5, 0):
    print(diffuser(torch.ones(2, 2), step).sum())


class Cached(nn.Module):
    def grow(self, rows):
        self.table = torch.arange(4.0 * rows).view(rows, 4)

    def forward(self, x, temperature):
        return (x + self.table).sum(0) / max(temperature, 1e-3)


cached = Cached()
read = torch.compile(cached)
for rows in (2, 3, 4):
    cached.grow(rows)
    print(read(torch.ones(rows, 4), 0.5))
whole = torch.compile(lambda x, t: (x * x / max(t, 1e-5)).sin(), dynamic=True)
x = torch.ones(3, 4, requires_grad=True)
whole(x, 0.8).sum().backward()
print(f"{x.grad.sum().item():.4f}")
