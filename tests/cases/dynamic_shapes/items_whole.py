"""`fullgraph=True` around `.item()`, as it comes."""

import torch


@torch.compile(fullgraph=True)
def scaled(x):
    return x * x.max().item()


try:
    print(scaled(torch.arange(3.0)))
except Exception as error:
    print(type(error).__name__)
    print(error)
