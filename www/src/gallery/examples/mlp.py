import torch
import torch.nn as nn

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(16, 32)
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        h = self.hidden(x)
        # GELU, written out.
        h = 0.5 * h * (1 + torch.tanh(0.79788456 * (h + 0.044715 * h**3)))
        return self.out(h)


model = MLP()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, target = torch.randn(8, 16), torch.randn(8, 4)


@torch.compile
def loss_fn(x, target):
    return ((model(x) - target) ** 2).mean()


# One step of training. Change anything: it runs again when you pause.
loss = loss_fn(x, target)
loss.backward()
optimizer.step()
print("loss", round(loss.item(), 4))
for name, p in model.named_parameters():
    print(name, tuple(p.grad.shape), round(p.grad.norm().item(), 4))
