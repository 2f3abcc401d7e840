import torch
@torch.compile
def f():
    return torch.ones(1, requires_grad=True) * 2
print(f())
