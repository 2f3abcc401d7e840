import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.history = []
        self.register_buffer("steps", torch.zeros(()))
    def forward(self, x):
        self.steps += 1
        h = self.lin(x)
        self.history.append(h.detach().mean())
        return h.relu()

torch.manual_seed(1)
m = Block()
cm = torch.compile(m)
for b in (2, 2, 5, 7):
    y = cm(torch.randn(b, 4))
    y.pow(2).mean().backward()
    print(b, m.steps.item(), len(m.history), round(m.history[-1].item(), 4))
print(m.lin.weight.grad.abs().sum().round(decimals=4))
