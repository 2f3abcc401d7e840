# Functions and modules of files beside the script: inlined, their globals guarded, their lines named where graphs break.
import torch
import torch._dynamo
from torch._dynamo.utils import counters

import helpers
from helpers import double
from model import Block


def below(text):
    # Where files lie is no part of what is compared.
    return text.replace("modules_beside.modules/", "")


def show(gm, inputs):
    print(below(gm.print_readable(print_output=False)))
    return gm.forward


torch.manual_seed(0)
x = torch.arange(8.0).reshape(2, 4)
block = torch.compile(Block(4), backend=show)
print(block(x).shape)
helpers.scale = 4.0
print(block(x).shape)


@torch.compile(backend=show)
def f(x):
    return helpers.broken(double(x)) + 1


print(f(x))
print(sum(counters["graph_break"].values()))


@torch.compile(backend=show, fullgraph=True)
def g(x):
    return helpers.broken(x)


try:
    g(x)
except torch._dynamo.exc.Unsupported as error:
    text = str(error)
    print(below(text[text.rindex("  File"):]))

whole = torch.compile(helpers.whole, backend=show)
print(whole(x, [helpers.double, torch.sin]))
