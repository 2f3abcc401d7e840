import torch

torch.manual_seed(0)


class Choice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.yes, self.no = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)

    def forward(self, x, p):
        return torch.cond(p, self.yes, self.no, (x,))


m = Choice()
x = torch.randn(2, 3, requires_grad=True)
torch.compile(m)(x, torch.tensor(True)).sum().backward()
print(m.yes.weight.grad is not None, m.no.weight.grad.abs().max())


@torch.compile
def f(x, w):
    def high(x):
        return x * w, x.sum()

    def low(x):
        return x.sin(), (w * 2).sum()

    a, b = torch.cond(x.sum() > 0, high, low, (x,))
    return a.sum() * b


x = torch.arange(3.0).requires_grad_()
w = torch.ones(3)
f(x, w).backward()
print(x.grad)


@torch.compile
def same_twice(x):
    return torch.cond(x.sum() > 0, lambda x: {"a": x + 1, "b": [x * 2]}, lambda x: {"a": x - 1, "b": [x * 3]}, (x,))


with torch.no_grad():
    print(same_twice(torch.ones(2)))
