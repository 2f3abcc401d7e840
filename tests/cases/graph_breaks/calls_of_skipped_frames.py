"""Frames that are skipped, because a graph breaks in one of their loops: functions that they call are compiled on their own."""
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.up, self.down = nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Mixture(nn.Module):
    def __init__(self, d=8, n=3):
        super().__init__()
        self.gate = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList(Expert(d, 16) for _ in range(n))

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == i)
            if rows.numel() == 0:
                continue
            out[rows] += weights[rows, slot].unsqueeze(-1) * expert(x[rows])
        return out


mixture = torch.compile(Mixture())
y = mixture(torch.randn(10, 8))
y.pow(2).mean().backward()
print(f"{y.sum().item():.4f}", mixture.gate.weight.grad.abs().sum().item() > 0)


class Block(nn.Module):
    def __init__(self, d, says=False):
        super().__init__()
        self.linear, self.norm, self.says = nn.Linear(d, d), nn.LayerNorm(d), says

    def forward(self, x):
        y = self.norm(self.linear(x))
        if self.says:
            print("mean %.3f" % y.abs().mean().item())
        return x + y


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8), Block(8, says=True), Block(8)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


stack = torch.compile(Stack())
for _ in range(2):
    stack(torch.randn(3, 8)).sum().backward()


def last(x):
    y = x + 1
    print("asked")
    return y * 2


@torch.compile
def until(x, n):
    steps = 0
    while steps < n:
        x = last(x)[:, -1:] + x
        steps += 1
        if (x > 40).all():
            break
    return x, steps


print(until(torch.ones(2, 3), 5))
