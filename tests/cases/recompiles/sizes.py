import torch

@torch.compile
def f(x):
    if x.shape[0] > 8:
        return x.sum(0)
    if x.shape[0] % 2 == 0:
        return x.mean(0)
    return x.amax(0)

for n in (4, 6, 7, 12, 5, 3, 1, 0 + 2):
    print(n, f(torch.ones(n, 3)).shape)

@torch.compile
def g(x, y):
    if x.shape[0] == y.shape[0]:
        return x + y
    return x.sum() + y.sum()

g(torch.ones(3), torch.ones(3))
g(torch.ones(4), torch.ones(4))
g(torch.ones(4), torch.ones(5))
g(torch.ones(6), torch.ones(5))
g(torch.ones(1), torch.ones(5))
print("ok")
