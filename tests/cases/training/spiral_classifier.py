import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def spirals(n, classes):
    xs, ys = [], []
    for c in range(classes):
        r = torch.linspace(0.05, 1, n)
        t = torch.linspace(c * 4, (c + 1) * 4, n) + torch.randn(n) * 0.2
        xs.append(torch.stack([r * torch.sin(t), r * torch.cos(t)], dim=1))
        ys.append(torch.full((n,), c))
    return torch.cat(xs), torch.cat(ys)


class Classifier(nn.Module):
    def __init__(self, hidden, classes):
        super().__init__()
        self.inp = nn.Linear(2, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x):
        h = torch.tanh(self.inp(x))
        h = h + F.relu(self.mid(h))
        return self.out(h)


torch.manual_seed(42)
X, y = spirals(50, 3)
model = Classifier(32, 3)
print(model)
print(sum(p.numel() for p in model.parameters()), "parameters")
step = torch.compile(lambda x, t: F.cross_entropy(model(x), t))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for i in range(100):
    order = torch.randperm(len(X))[:64]
    loss = step(X[order], y[order])
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if i % 10 == 9:
        print(f"step {i + 1:3d}  loss {loss.item():.4f}  grad norm {norm.item():.4f}")
with torch.no_grad():
    accuracy = (model(X).argmax(dim=1) == y).float().mean()
print(f"accuracy {accuracy:.3f}", math.isfinite(loss.item()))
