# Functions that Dynamo does not trace, of Python and of torch: each ends the graph of the function that calls it, and what follows is another.
import gc
import sys
import time
import torch
from torch._dynamo.utils import counters

gen = torch.Generator()


def seeded(x):
    y = x + 1
    torch.manual_seed(3)
    return y + torch.rand(2)


def state(x):
    y = x * 2
    before = torch.get_rng_state()
    a = torch.rand(2)
    torch.set_rng_state(before)
    return y + (a == torch.rand(2))


def generator(x):
    y = x * 3
    gen.manual_seed(7)
    return y + torch.rand(2, generator=gen)


def collected(x):
    y = x.sin()
    gc.collect()
    return y.cos()


def slept(x):
    y = x.sin()
    time.sleep(0)
    return y * 2


def measured(x):
    y = x.tanh()
    n = sys.getsizeof([]) > 0
    return y * n


def names(x):
    y = x.exp()
    return y * len([name for name in dir(gen) if name == "manual_seed"])


def in_place(x, g):
    y = torch.empty(2).normal_(generator=g)
    return x * y


def permuted(x, g):
    y = x * 2
    return torch.nn.functional.dropout(y)[torch.randperm(2, generator=g)]


class Noisy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        h = self.linear(x)
        torch.manual_seed(0)
        return torch.nn.functional.dropout(h, 0.5) * 2


torch.manual_seed(0)
noisy = Noisy()
for f in (seeded, state, generator, collected, slept, measured, names, in_place, permuted, noisy):
    torch._dynamo.reset()
    counters.clear()
    x = torch.ones(2, requires_grad=True)
    out = torch.compile(f)(x, gen) if f in (in_place, permuted) else torch.compile(f)(x)
    out.sum().backward()
    print(getattr(f, "__name__", "Noisy"), out.tolist(), x.grad.tolist())
    print([reason.split("\n")[0] for reason in counters["graph_break"]])
