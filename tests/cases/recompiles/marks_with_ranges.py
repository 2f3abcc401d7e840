import torch

@torch.compile
def f(x):
    return x.sin().sum(-1)

x = torch.randn(8, 4)
torch._dynamo.mark_dynamic(x, 0, min=4, max=64)
print(f(x).shape)
y = torch.randn(16, 4)
print(f(y).shape)
z = torch.randn(128, 4)
print(f(z).shape)
w = torch.randn(3, 4)
torch._dynamo.mark_dynamic(w, 0, min=2, max=10)
print(f(w).shape)
