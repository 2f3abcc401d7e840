import torch

@torch.compile
def f(x):
    return (x * 2).relu().sum()

print(f(torch.ones(4, 4)))
print(f(torch.ones(4, 4, dtype=torch.float64)))
print(f(torch.ones(4, 4, 2)))
print(f(torch.ones(4, 4).t()))
print(f(torch.ones(4, 8)[:, ::2]))
print(f(torch.ones(4, 4, requires_grad=True)))
with torch.no_grad():
    print(f(torch.ones(4, 4)))
