import torch

@torch.compile
def f(x):
    assert x.shape[0] == 4
    return x.relu()

x = torch.randn(4, 3)
torch._dynamo.maybe_mark_dynamic(x, 0)
print(f(x).shape)
x = torch.randn(4, 3)
torch._dynamo.mark_dynamic(x, 0)
torch._dynamo.mark_dynamic(x, 1)
try:
    f(x)
except Exception as e:
    print(e)

@torch.compile
def g(x, y):
    return x + y
a = torch.randn(6, 2)
b = torch.randn(6, 2)
torch._dynamo.mark_dynamic(a, 0)

@torch.compile
def marked_alone(x, y):
    return x + y

try:
    print(marked_alone(a, b).shape)
except Exception as e:
    print(e)
torch._dynamo.mark_dynamic(b, 0)
print(g(a, b).shape)
one = torch.randn(1, 2)
torch._dynamo.mark_dynamic(one, 0)
try:
    print(g(one, b).shape)
except Exception as e:
    print(e)
