"""A tensor of the caller's that decides which way Python goes breaks the graph, like one that was computed."""

import torch

x = torch.tensor([1.0, 2.0, 3.0])
yes, no = torch.tensor(True), torch.tensor(False)


def after_a_call(s, x):
    y = x * 2
    if s:
        return y + 1
    return y - 1


def first(s, x):
    if s:
        return x + 1
    return x - 1


def ternary(s, x):
    return x + 1 if s else x - 1


def negated(s, x):
    return x + 1 if not s else x - 1


def both(s, x):
    return x + 1 if s and x.sum() > 0 else x - 1


def while_it_is_more(s, x):
    n = 0
    while s > n:
        x = x + 1
        n += 1
    return x


def number(s, x):
    return bool(s), x + 1


class Flagged(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor(0))
        self.flag = torch.tensor(True)

    def forward(self, x):
        y = x + 1
        if self.steps == 0:
            y = y * 2
        if self.flag:
            y = y * 3
        return y


for function in after_a_call, first, ternary, negated, both, number:
    torch._dynamo.reset()
    compiled = torch.compile(function)
    print(function.__name__, compiled(yes, x), compiled(no, x), compiled(yes, x))
print(torch.compile(while_it_is_more)(torch.tensor(2), x))
module = Flagged()
compiled = torch.compile(module)
print(compiled(x))
module.flag = no
print(compiled(x))
y = torch.ones(3, requires_grad=True)
torch.compile(after_a_call)(yes, y).sum().backward()
print(y.grad)
