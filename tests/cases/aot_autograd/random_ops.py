import torch

@torch.compile
def f(x):
    n = torch.randn_like(x)
    u = torch.rand(3)
    b = torch.bernoulli(u)
    p = torch.randperm(4)
    return x + n, b, p, torch.randint(0, 9, (2,))
torch.manual_seed(0)
x = torch.zeros(3, requires_grad=True)
a, b, p, r = f(x)
print(a, b, p, r)
