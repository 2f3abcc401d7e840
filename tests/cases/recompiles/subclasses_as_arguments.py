import torch
import torch.nn as nn
import numpy as np

@torch.compile
def f(x):
    return x * 2 + 1

print(f(torch.ones(2)))
print(f(nn.Parameter(torch.ones(2))))
print(f(3))
print(f(4.5))
print(f(torch.ones(2, dtype=torch.int64)))
print(f(torch.tensor(3.0)))
print(f(torch.ones(2, device="meta").shape[0]))
