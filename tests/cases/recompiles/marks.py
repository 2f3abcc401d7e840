import torch

@torch.compile
def f(x):
    return x.sin() + 1

def marked(shape, dims, **kw):
    x = torch.randn(*shape)
    for d in dims:
        torch._dynamo.mark_dynamic(x, d, **kw)
    return x

f(marked((4, 6), [0]))
f(marked((5, 6), [0, 1]))
f(marked((7, 6), [1]))
f(torch.randn(9, 8))
f(marked((4, 6), [0], min=2, max=8))
f(marked((4, 6), [0], min=2, max=16))
y = torch.randn(4, 6)
torch._dynamo.mark_static(y, 0)
f(y)
z = torch.randn(3, 6)
torch._dynamo.maybe_mark_dynamic(z, 0)
f(z)
print("done")
