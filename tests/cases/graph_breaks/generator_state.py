# Where the generator's state is taken and put back, what was recorded before takes its numbers first.
import contextlib

import torch
from torch.utils.checkpoint import checkpoint


def forked(x):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return torch.rand(3) * x


@torch.compile
def in_a_block(x):
    a = torch.rand(3) + x
    with torch.random.fork_rng():
        b = torch.nn.functional.dropout(x, 0.5) * 2
    c = torch.rand(2)
    with torch.random.fork_rng(enabled=False):
        d = torch.rand(2) * 2
    return a, b, c, d


@torch.compile
def in_a_function(x):
    y = x + torch.rand(3)
    z = forked(y)
    return z + torch.rand(3)


@torch.compile
def seeded_in_a_block(x):
    a = torch.rand(3) + x
    with torch.random.fork_rng():
        torch.manual_seed(5)
        b = torch.nn.functional.dropout(x, 0.5) * 2
    return a, b, torch.rand(2)


torch.manual_seed(0)
for function in (in_a_block, in_a_function, seeded_in_a_block):
    for _ in range(2):
        print(function(torch.ones(3)), torch.rand(1))

# The backward of a reentrant checkpoint runs its function again with the numbers that the forward had.
w = torch.linspace(0, 1, 4).requires_grad_()


def block(x):
    return torch.nn.functional.dropout(x * w, 0.5)


@torch.compile
def backward(y):
    (y * torch.rand(4)).sum().backward()


for compiled in (contextlib.nullcontext(), torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager"))):
    x = torch.ones(4, requires_grad=True)
    w.grad = None
    with compiled:
        (checkpoint(block, x, use_reentrant=True) * torch.rand(4)).sum().backward()
    print(x.grad, w.grad, torch.rand(1))
x = torch.ones(4, requires_grad=True)
backward(checkpoint(block, x, use_reentrant=True))
print(x.grad, torch.rand(1))
