import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        h = torch.relu(self.a(x)) + 1
        h.register_hook(lambda g: g.clamp(-0.5, 0.5))
        return self.b(h)


net = Net()
with torch.no_grad():
    for i, p in enumerate(net.parameters()):
        p.fill_(0.5 + i)
seen = []
for name, p in net.named_parameters():
    p.register_hook(lambda g, name=name: seen.append(name) or g * 0.5)
compiled = torch.compile(net)
compiled(torch.ones(1, 2)).sum().backward()
print(seen)
print([p.grad for p in net.parameters()])
seen.clear()
net(torch.ones(1, 2)).sum().backward()
print(seen)
leaves = [torch.ones(1, requires_grad=True) for _ in range(7)]
for i, leaf in enumerate(leaves):
    leaf.register_hook(lambda g, i=i: print(i, end=" "))
torch.cat(leaves).sum().backward()
print()
