"""A module with backward hooks is called outside of the graph: its forward and its hooks are frames of their own."""
import torch, torch.nn as nn
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3, bias=False)
        self.lin.weight = nn.Parameter(torch.eye(3))
    def forward(self, x):
        return self.lin(x).sin() + 1
m = Own()
m.register_full_backward_hook(lambda mod, gi, go: None)
m.register_forward_hook(lambda mod, a, o: o * 10)
m.register_forward_pre_hook(lambda mod, a: (a[0] + 5,))
@torch.compile(backend="aot_eager")
def f(x):
    y = x * 3
    return m(y).cos()
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
f(x).sum().backward()
print(x.grad)
