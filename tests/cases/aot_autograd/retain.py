import torch

@torch.compile
def f(x):
    return x.sin() * x
x = torch.ones(2, requires_grad=True)
out = f(x).sum()
out.backward(retain_graph=True)
out.backward()
print(x.grad)
try:
    out.backward()
except RuntimeError as e:
    print(str(e)[:80])
