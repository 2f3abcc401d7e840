"""The grad mode that a called function sets, whose graph breaks: it stays set where the function has returned."""

import torch


def switches_off(x):
    torch.set_grad_enabled(False)
    print("off")
    return x * 3


def switches_on(x):
    torch.set_grad_enabled(True)
    print("on")
    return x * 3


@torch.compile
def off(x):
    a = x * 2
    b = switches_off(a)
    c = x * b
    return a, b, c


@torch.compile
def off_and_on(x):
    a = switches_off(x) + x
    b = switches_on(x) + a
    torch._dynamo.graph_break()
    return a, b, b * x


@torch.compile
def in_a_block(x):
    with torch.no_grad():
        a = switches_on(x) * x
    b = a * x
    return a, b


for function in off, off_and_on, in_a_block:
    for _ in range(2):
        torch.set_grad_enabled(True)
        results = function(torch.ones(2, requires_grad=True))
        print(function.__name__, [t.requires_grad for t in results], torch.is_grad_enabled())
torch.set_grad_enabled(True)
