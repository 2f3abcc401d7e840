import torch

@torch.compile
def f(x):
    y = torch.empty(3).uniform_(0, 1)
    x.normal_()
    return y
torch.manual_seed(1)
x = torch.zeros(3)
print(f(x), x)
