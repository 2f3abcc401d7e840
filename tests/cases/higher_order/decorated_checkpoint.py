import torch
from torch.utils.checkpoint import checkpoint


@checkpoint(use_reentrant=False)
def block(x, w, *, scale=1.0):
    """docs"""
    return torch.sigmoid(x @ w).sin() * scale


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.linspace(-1, 1, 9).reshape(3, 3))

    @checkpoint(use_reentrant=False)
    def part(self, x):
        return torch.tanh(x @ self.w).exp()

    def forward(self, x):
        return block(self.part(x), self.w, scale=2.0).sum()


net = Net()
x = torch.ones(2, 3, requires_grad=True)
f = torch.compile(net, backend="aot_eager")
out = f(x)
out.backward()
print(out.item(), x.grad)
print(block.__doc__, block.__name__, type(Net.part).__name__)
g = torch.compile(lambda a, w: block(a, w), backend="aot_eager")
print(g(x.detach(), net.w).sum().item())
