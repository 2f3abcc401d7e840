"""A break at the first instruction, which takes tensors of the caller's: the graph gives them back, the last first."""

import torch

x = torch.tensor([1.0, 2.0, 3.0])
mask = x > 1


class Masked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("mask", torch.tensor([True, False, True]))

    def forward(self, x):
        return self.weight[self.mask] + 1


def computed_before(x, mask):
    y = x + 1
    return x[mask], y


def one_computed(x, mask):
    y = x + 1
    return y[mask] * 2


def called(x, mask):
    torch._dynamo.graph_break()
    return x + mask


def function_on_the_stack(x, mask):
    return torch.nonzero(mask) + 1


print(torch.compile(lambda x, mask: x[mask])(x, mask))
print(torch.compile(lambda x, mask: x[mask] + 1)(x, mask))
print(torch.compile(Masked())(x))
print(torch.compile(lambda x, mask: x[None][:, mask])(x, mask))
print(torch.compile(lambda x, mask: x[:, mask])(x[None], mask))
for function in computed_before, one_computed, called, function_on_the_stack:
    print(function.__name__, torch.compile(function)(x, mask))
