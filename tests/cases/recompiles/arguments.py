import torch

@torch.compile
def f(*args, **kw):
    out = args[0]
    for a in args[1:]:
        out = out + a
    if "scale" in kw:
        out = out * kw["scale"]
    return out

x = torch.ones(3)
print(f(x))
print(f(x, x * 2))
print(f(x, 3))
print(f(x, scale=2))
print(f(x, scale=3))
print(f(x, x * 3, scale=x))

@torch.compile
def g(x, p=0.5, training=True, mode="a", axes=(0,), shape=[3]):
    if training:
        x = x * p
    if mode == "a":
        x = x.sum(axes)
    return x.expand(shape) if x.dim() == 0 else x

print(g(x))
print(g(x, training=False))
print(g(x, mode="b"))
print(g(x, axes=(-1,)))
print(g(x, shape=[4]))
