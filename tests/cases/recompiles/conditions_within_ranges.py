import torch

@torch.compile
def f(x):
    if x.size(0) <= 2048:
        return x * 2
    return x + 1

x = torch.randn(10, 3)
torch._dynamo.mark_dynamic(x, 0, min=1, max=1024)
print(f(x).sum().shape)

@torch.compile
def g(x):
    if x.size(0) % 2 == 0:
        return x * 2
    return x + 1

x = torch.randn(10, 3)
torch._dynamo.mark_dynamic(x, 0, min=1, max=1024)
try:
    print(g(x).shape)
except Exception as e:
    print(e)

@torch.compile
def h(x, y):
    return torch.cat([x, y]).reshape(-1, 2)
x = torch.randn(10, 3)
y = torch.randn(6, 3)
torch._dynamo.mark_dynamic(x, 0, max=1024)
torch._dynamo.mark_dynamic(y, 0, min=3)
try:
    print(h(x, y).shape)
except Exception as e:
    print(e)
