# keep: operator:aten.copy_
import torch
from torch import nn

# an optimizer keeps flat views of parameters, taken once under no_grad, and updates them by a compiled step

class Flat:
    def __init__(self, params, lr):
        self.params = list(params)
        with torch.no_grad():
            self.views = [p.view(-1) for p in self.params]
        self.moments = [torch.zeros_like(v) for v in self.views]
        self.lr = lr

    @torch.no_grad()
    def step(self):
        grads = [p.grad.view(-1) for p in self.params]
        update(self.views, self.moments, grads, self.lr)

@torch.compile
def update(views, moments, grads, lr):
    for v, m, g in zip(views, moments, grads):
        m.mul_(0.5).add_(g)
        v.add_(m, alpha=-lr)

torch.manual_seed(0)
net = nn.Linear(2, 1)
with torch.no_grad():
    net.weight.copy_(torch.tensor([[1.0, -1.0]]))
    net.bias.zero_()
opt = Flat(net.parameters(), 0.25)
x, y = torch.eye(2), torch.ones(2, 1)
for i in range(3):
    net.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
    print(i, round(loss.item(), 4), [round(v, 4) for v in net.weight.flatten().tolist()], net.weight.is_leaf)
