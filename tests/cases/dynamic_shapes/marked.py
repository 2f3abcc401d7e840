"""mark_dynamic with bounds, mark_static, and what happens outside of the bounds."""
import torch

def f(x, y):
    return (x.unsqueeze(1) + y).relu().mean(0)

g = torch.compile(f)
for n in (4, 6, 16):
    x, y = torch.randn(n, 3), torch.randn(5, 3)
    torch._dynamo.mark_dynamic(x, 0, min=2, max=16)
    torch._dynamo.mark_static(y, 0)
    print(g(x, y).shape)
x = torch.randn(20, 3)
print(g(x, torch.randn(5, 3)).shape)
x = torch.randn(1, 3)
print(g(x, torch.randn(7, 3)).shape)
print(g(torch.randn(9, 3), torch.randn(8, 3)).shape)
