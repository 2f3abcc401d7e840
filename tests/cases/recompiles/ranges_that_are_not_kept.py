import torch

@torch.compile
def f(x):
    if x.shape[0] > 10:
        return x * 2
    return x * 3

x = torch.randn(8, 4)
torch._dynamo.mark_dynamic(x, 0, min=4, max=64)
try:
    f(x)
except Exception as e:
    print(type(e).__name__)
    print(str(e).split("\n")[0])

@torch.compile
def g(x):
    return x.view(4, 2, 4)

try:
    g(x)
except torch.fx.experimental.symbolic_shapes.ConstraintViolationError as e:
    print(e)
